package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/internal/secretfile"
)

// etcdFlags say which etcd a registry is in, and who asks it.
type etcdFlags struct {
	endpoints     []string
	prefix        string
	ca, cert, key string
	credentials   string
}

func (e *etcdFlags) add(f *pflag.FlagSet) {
	f.StringSliceVar(&e.endpoints, "etcd", nil, "members of the etcd that the registry is in, as http://10.0.0.1:2379,http://10.0.0.2:2379, in place of --dir")
	f.StringVar(&e.prefix, "etcd-prefix", etcdstore.DefaultPrefix, "what its keys in etcd begin with")
	e.addAccess(f)
}

// addAccess gives f the flags that say by what right etcd is asked.
func (e *etcdFlags) addAccess(f *pflag.FlagSet) {
	f.StringVar(&e.ca, "etcd-ca", "", "PEM file with the roots of etcd's certificates (default: those of the system)")
	f.StringVar(&e.cert, "etcd-cert", "", "PEM file with the certificate to show etcd")
	f.StringVar(&e.key, "etcd-key", "", "PEM file with its key (mode 0600)")
	f.StringVar(&e.credentials, "etcd-credentials", "", "YAML file with username and password of etcd (mode 0600)")
}

// given reports whether the registry is in etcd.
func (e *etcdFlags) given() bool { return len(e.endpoints) > 0 }

func (e *etcdFlags) validate() error {
	for _, endpoint := range e.endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usagef("--etcd %q: use a URL as http://10.0.0.1:2379", endpoint)
		}
		if u.User != nil {
			return usagef("--etcd: a password in a URL is seen by everybody on this machine: use --etcd-credentials")
		}
	}
	switch {
	case (e.cert == "") != (e.key == ""):
		return usagef("--etcd-cert and --etcd-key: one needs the other")
	case !strings.HasSuffix(e.prefix, "/"):
		return usagef("--etcd-prefix %q: it needs a slash at its end", e.prefix)
	}
	return nil
}

// place names the registry for people.
func (e *etcdFlags) place() string {
	return fmt.Sprintf("etcd at %s below %s", strings.Join(e.endpoints, ","), e.prefix)
}

// arguments are how another command finds the same registry.
func (e *etcdFlags) arguments() string {
	args := "--etcd " + strings.Join(e.endpoints, ",")
	if e.prefix != etcdstore.DefaultPrefix {
		args += " --etcd-prefix " + e.prefix
	}
	return args
}

// dial makes a client. It connects when it is first asked.
func (e *etcdFlags) dial() (*clientv3.Client, error) {
	c := clientv3.Config{
		Endpoints: e.endpoints, DialTimeout: 5 * time.Second, DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		PermitWithoutStream: true, Logger: zap.NewNop(), // what fails is an error of the call
	}
	if e.ca != "" || e.cert != "" {
		var err error
		if c.TLS, err = e.tls(); err != nil {
			return nil, err
		}
	}
	if e.credentials != "" {
		who, err := readEtcdCredentials(e.credentials)
		if err != nil {
			return nil, err
		}
		c.Username, c.Password = who.Username, who.Password
	}
	client, err := clientv3.New(c)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", e.place(), err)
	}
	return client, nil
}

func (e *etcdFlags) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if e.ca != "" {
		pem, err := os.ReadFile(e.ca)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", e.ca)
		}
	}
	if e.cert == "" {
		return c, nil
	}
	key, err := secretfile.Read(e.key)
	if err != nil {
		return nil, err
	}
	cert, err := os.ReadFile(e.cert)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", e.cert, e.key, err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// etcdCredentials is the file of --etcd-credentials.
type etcdCredentials struct {
	Username string `yaml:"username"`
	Password string `yaml:"password"`
}

func readEtcdCredentials(path string) (who etcdCredentials, err error) {
	text, err := secretfile.Read(path)
	if err != nil {
		return who, err
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if d.Decode(&who) != nil || who.Username == "" || who.Password == "" {
		return who, errors.New(path + ": it should have a line \"username: …\" and a line \"password: …\", and no more") // an error of YAML's may quote it
	}
	return who, nil
}
