package httpapi_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eaba02dc/registrar/master/httpapi"
)

// hashOfHush and hashOfOther are of the passwords "hush" and "other".
const (
	hashOfHush  = "$2a$04$sDtlOFVl6Bmp0iK/AFfisuqZvkkeggPWz51XBaxW8Kj2lcxvagu3q"
	hashOfOther = "$2a$05$pYQDElFdJ9sUTVv4VA2rtektWT3TuxsEv5hSMndgJRdoS1vTVGKJu"
)

func TestCredentialsAreReadFromAFileOfOnesOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "credentials.yaml")
	text := `
- principal: ops
  bcrypt: ` + hashOfHush + `
  realms: [readonly, readwrite, agents]
- {"principal": "team a", "bcrypt": "` + hash2y() + `", "realms": ["readonly"], "roles": ["team-a", "b/c"]}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := httpapi.ReadCredentials(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []httpapi.Credential{
		{Principal: "ops", Bcrypt: hashOfHush, Realms: []httpapi.Realm{"readonly", "readwrite", "agents"}},
		{Principal: "team a", Bcrypt: hash2y(), Realms: []httpapi.Realm{"readonly"}, Roles: []string{"team-a", "b/c"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := httpapi.ReadCredentials(path); err == nil ||
		err.Error() != "credentials: "+path+" can be read by others (mode 0640): it holds a secret, so chmod 600 it" {
		t.Errorf("open to a group: %v", err)
	}
}

func TestWhatIsWrongWithCredentialsIsSaidWithoutThem(t *testing.T) {
	const notAList = "it is not a YAML list with principal, bcrypt, realms and roles"
	entry := func(principal, bcrypt, rest string) string {
		return "- principal: " + principal + "\n  bcrypt: " + bcrypt + "\n  " + rest + "\n"
	}
	const all = "realms: [readonly, agents]"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":         {"", "there are none, so that nobody could come in"},
		"no list":         {"principal: s3cret", "line 1: " + notAList},
		"another member":  {entry("a", hashOfHush, "password: s3cret"), "line 3: " + notAList},
		"a list for text": {entry("a", "[s3cret]", all), "line 2: " + notAList},
		"an alias":        {entry("a", "*s3cret", all), notAList},
		"a bad escape":    {entry("a", `"\s3cret"`, all), "line 2: " + notAList},
		"member twice":    {entry("a", hashOfHush, "bcrypt: s3cret"), "line 3: " + notAList},
		"two documents":   {entry("a", hashOfHush, all) + "---\n- s3cret\n", "there is more than one YAML document"},
		"no principal":    {entry(`""`, hashOfHush, all), "number 1: principal: is missing"},
		"a colon":         {entry(`"a:s3cret"`, hashOfHush, all), "number 1: principal: has a colon or control characters, which HTTP cannot say"},
		"control":         {entry(`"s3cret\n"`, hashOfHush, all), "number 1: principal: has a colon or control characters, which HTTP cannot say"},
		"twice":           {entry("a", hashOfHush, all) + entry("a", hashOfHush, all), `number 2: principal "a" is there before`},
		"no realms":       {entry("a", hashOfHush, "realms: []"), "number 1: realms: are missing"},
		"another realm":   {entry("a", hashOfHush, "realms: [readonly, s3cret]"), "number 1: realms: want some of [readonly readwrite agents]"},
		"plain":           {entry("a", "s3cret", all), "number 1: bcrypt: is not a hash of bcrypt, as $2a$12$…"},
		"with its name":   {entry("a", "a:"+hashOfHush, all), "number 1: bcrypt: cut off what is before the colon, and the colon: that is the name, as htpasswd writes it"},
		"cut":             {entry("a", hashOfHush[:59], all), "number 1: bcrypt: is not a hash of bcrypt, as $2a$12$…"},
		"longer":          {entry("a", hashOfHush+"s", all), "number 1: bcrypt: is not a hash of bcrypt, as $2a$12$…"},
		"dear":            {entry("a", strings.Replace(hashOfHush, "$04$", "$15$", 1), all), "number 1: bcrypt: its cost is 15, and at most 14 is taken: each password would keep a core busy for seconds"},
		"roles for all":   {entry("a", hashOfHush, all+"\n  roles: [x]"), "number 1: roles: who sees a part only may be let into the realm readonly only"},
		"empty roles":     {entry("a", hashOfHush, "realms: [readonly]\n  roles: []"), "line 4: roles: want a list of some; without roles everything is seen"},
		"null roles":      {entry("a", hashOfHush, "realms: [readonly]\n  roles:"), "line 4: roles: want a list of some; without roles everything is seen"},
		"a role":          {entry("a", hashOfHush, "realms: [readonly]\n  roles: s3cret"), "line 4: roles: want a list of some; without roles everything is seen"},
		"a slash":         {entry("a", hashOfHush, "realms: [readonly]\n  roles: [s3cret/]"), "number 1: roles: a role is not empty, and has no slash at its ends"},
		"an empty role":   {entry("a", hashOfHush, `realms: [readonly]`+"\n  roles: ['']"), "number 1: roles: a role is not empty, and has no slash at its ends"},
	} {
		_, err := httpapi.ParseCredentials([]byte(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// hash2y is hashOfHush as htpasswd writes it.
func hash2y() string { return "$2y" + hashOfHush[3:] }
