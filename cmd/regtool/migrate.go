package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/etcdstore"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/wal"
)

// migrateMark stands in the name of a registry that is being moved to a directory.
const migrateMark = ".migrating-"

func newMigrateCommand() *cobra.Command {
	var common etcdFlags
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make a registry in etcd of one in a directory, or the other way round",
		Long: `Migrate makes a new registry at --to that holds what the one at --from does:
every agent and key, who leads, the requests that are remembered with their
answers, at the same revision. It is proved by its digest, and only then migrate
says so. The log stays behind, and the history is another: who follows it is
handed the whole registry anew.

Nobody may write meanwhile, or what he writes would be left behind: a directory
that a process has open is refused, and so is a registry in etcd that a master
leads. The one at --from stays as it is. Put it aside then: nothing keeps a
master from going on with it.

A place is a directory, or members of etcd with the prefix behind them (default:
/registrar/), as http://10.0.0.1:2379,http://10.0.0.2:2379/registrar/.`,
		Example: `  regtool migrate --from /var/lib/registry --to http://10.0.0.1:2379
  regtool migrate --from http://10.0.0.1:2379/registrar/ --to /var/lib/registry`,
		Args: noArguments,
	}
	asJSON := jsonFlag(cmd)
	f := cmd.Flags()
	from := f.String("from", "", "the registry that is there: DIR or URL (required)")
	to := f.String("to", "", "where the new one is made: DIR or URL (required)")
	cmd.MarkFlagRequired("from")
	cmd.MarkFlagRequired("to")
	common.addAccess(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		source, target := registryAt(*from, common), registryAt(*to, common)
		if source.etcd.given() {
			if err := source.etcd.validate(); err != nil {
				return err
			}
		}
		if err := target.roomFor(); err != nil {
			return err
		}
		defer busy(cmd.ErrOrStderr(), "migrate "+source.place())()
		made, err := source.migrate(cmd, target)
		if err != nil {
			return fmt.Errorf("migrate %s to %s: %w", source.place(), target.place(), err)
		}
		return writeMigrated(cmd.OutOrStdout(), source.place(), target.place(), made, *asJSON)
	}
	return cmd
}

// registryAt reads a place as people write it.
func registryAt(text string, access etcdFlags) reading {
	if !strings.Contains(text, "://") {
		return reading{dir: text}
	}
	e := access
	e.prefix = etcdstore.DefaultPrefix
	e.endpoints = strings.Split(text, ",")
	last := &e.endpoints[len(e.endpoints)-1]
	scheme, rest, _ := strings.Cut(*last, "://")
	if host, path, found := strings.Cut(rest, "/"); found {
		*last = scheme + "://" + host
		if path != "" {
			e.prefix = "/" + path
		}
	}
	return reading{etcd: e}
}

// migrate makes the registry at another place, while nobody can write to this one.
func (s reading) migrate(cmd *cobra.Command, to reading) (*registrar.Image, error) {
	held, err := s.hold(cmd)
	if err != nil {
		return nil, s.advise(err)
	}
	image, err := registrar.LoadImage(cmd.Context(), held)
	if err != nil {
		return nil, errors.Join(s.advise(err), held.Close())
	}
	begin := image.Mark
	begin.Seq = max(begin.Seq, 1)
	made, err := to.makeOf(cmd, migrateMark, begin, image)
	return made, errors.Join(err, held.Close())
}

// hold opens the registry so that nobody writes to it until it is closed: a
// directory for reading, which keeps writers away; in etcd by leading it.
func (s reading) hold(cmd *cobra.Command) (store.Store, error) {
	if !s.etcd.given() {
		return wal.Open(s.dir, wal.Options{ReadOnly: true, Logger: logger(cmd)})
	}
	client, err := s.etcd.dial()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), etcdWithin)
	defer cancel()
	st, err := etcdstore.Open(ctx, client, etcdstore.Options{Prefix: s.etcd.prefix, Logger: logger(cmd)})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &inEtcd{st, client, s.place()}, nil
}

// migrated is what migrate prints.
type migrated struct {
	From     string          `json:"from"`
	To       string          `json:"to"`
	Entries  uint64          `json:"entries"`
	Digest   string          `json:"digest"`
	Requests int             `json:"requests"`
	Revision uint64          `json:"revision"`
	History  store.HistoryID `json:"history"`
}

func writeMigrated(w io.Writer, from, to string, made *registrar.Image, asJSON bool) error {
	m := migrated{from, to, made.Mark.Count, made.Registry.Digest().String(), made.Requests(), made.Mark.Revision, made.Identity.History}
	if asJSON {
		return writeJSON(w, m)
	}
	return writeFacts(w, []fact{
		{"registry", "made new in " + m.To},
		{"from", m.From + ", which stays as it is"},
		{"entries", m.Entries},
		{"digest", m.Digest + ", the same on both sides"},
		{"requests", m.Requests},
		{"revision", m.Revision},
		{"history", m.History},
	})
}
