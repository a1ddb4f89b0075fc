package httpapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/eaba02dc/registrar/master/httpapi"
)

// people are who the tests know, with the passwords "hush" and, the dearest,
// "other".
func people() []httpapi.Credential {
	return []httpapi.Credential{
		{Principal: "all", Bcrypt: hashOfHush, Realms: httpapi.Realms()},
		{Principal: "reader", Bcrypt: hashOfHush, Realms: []httpapi.Realm{httpapi.Readonly}},
		{Principal: "agent", Bcrypt: hashOfOther, Realms: []httpapi.Realm{httpapi.Agents}},
		{Principal: "team", Bcrypt: hash2y(), Realms: []httpapi.Realm{httpapi.Readonly}, Roles: []string{"team"}},
	}
}

func newGate(t *testing.T, o httpapi.GateOptions) *httpapi.Gate {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	list := people()
	if o.Realms != nil && !slices.Contains(o.Realms, httpapi.Readonly) {
		list = list[:3] // roles would mean nothing
	}
	g, err := httpapi.NewGate(list, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// whoAsks answers with who has been let through.
var whoAsks = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s sees %v", httpapi.Principal(r.Context()), httpapi.ViewOf(r.Context()).Roles)
})

func guarded(g *httpapi.Gate) http.Handler {
	o := options
	o.Gate, o.Agents, o.Debug = g, whoAsks, whoAsks
	return httpapi.New(still{newMaster()}, o)
}

// basic is the Authorization of a principal, "" for nobody.
func basic(principal, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(principal+":"+password))
}

// knock is a request of somebody at an address.
func knock(h http.Handler, method, target, address, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = address + ":1234"
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const (
	sayWho     = "say who you are: this needs a principal and its password"
	wrong      = "principal or password is wrong"
	restricted = "who may see only some roles may not see this"
)

func TestEachEndpointIsInARealm(t *testing.T) {
	h := guarded(newGate(t, httpapi.GateOptions{}))
	nobody, all, reader, agent, team := "", basic("all", "hush"), basic("reader", "hush"), basic("agent", "other"), basic("team", "hush")
	for _, c := range []struct {
		method string
		paths  string
		realm  string
		status map[string]int
	}{
		{http.MethodGet, "/health /master/health /ready /version /version.json /redirect /health/", "", map[string]int{nobody: 0, all: 0, reader: 0, agent: 0, team: 0, basic("all", "x"): 0}},
		{http.MethodGet, "/state /master/state.json /state-summary /slaves /frameworks /tasks /roles/ /flags", "readonly",
			map[string]int{nobody: 401, all: 200, reader: 200, agent: 403, team: 200, basic("all", "x"): 401, basic("x", "hush"): 401, basic("agent", "hush"): 401, "Bearer x": 401, "Basic %": 401}},
		{http.MethodGet, "/registrar(1)/registry", "readonly", map[string]int{nobody: 401, reader: 200, agent: 403, team: 403}},
		{http.MethodPost, "/state", "readonly", map[string]int{nobody: 401, reader: 200}},
		{http.MethodPost, "/api/v1/agent /master/api/v1/agent", "agents", map[string]int{nobody: 401, all: 200, reader: 403, agent: 200, team: 403, basic("agent", "x"): 401}},
		{http.MethodGet, "/api/v1/agent", "agents", map[string]int{nobody: 401, agent: 405}},
		{http.MethodGet, "/debug/pprof/ /debug/pprof/heap", "readwrite", map[string]int{nobody: 401, all: 200, reader: 403, agent: 403, team: 403}},
		{http.MethodGet, "/nothing", "", map[string]int{nobody: 404, all: 404}},
	} {
		for path := range strings.FieldsSeq(c.paths) {
			for who, want := range c.status {
				w := knock(h, c.method, path, "10.0.0.1", who)
				if want == 0 {
					want = knock(httpapi.New(still{newMaster()}, options), c.method, path, "10.0.0.1", "").Code // as without a gate
				}
				challenge := ""
				if want == 401 {
					challenge = `Basic realm="mesos-master-` + c.realm + `", charset="UTF-8"`
				}
				if w.Code != want || w.Header().Get("WWW-Authenticate") != challenge {
					t.Errorf("%s %s as %q: %d, %q; want %d, %q", c.method, path, who, w.Code, w.Header().Get("WWW-Authenticate"), want, challenge)
				}
			}
		}
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	h := guarded(newGate(t, httpapi.GateOptions{}))
	for who, body := range map[string]string{
		"":                            sayWho,
		basic("all", ""):              wrong,
		basic("nobody", "hush"):       wrong,
		basic("agent", "other"):       `"agent" is not let into the realm mesos-master-readonly`,
		basic("all", "hush\x00"):      wrong,
		"Basic " + "bm8gY29sb24=":     sayWho,
		"basic" + basic("", "")[5:]:   wrong,
		basic("all", "hush") + "AAAA": sayWho,
	} {
		w := knock(h, http.MethodGet, "/state", "10.0.0.1", who)
		if w.Body.String() != body || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%q: %d %q, want %q", who, w.Code, w.Body, body)
		}
	}
	if w := knock(h, http.MethodGet, "/registrar(1)/registry", "10.0.0.1", basic("team", "hush")); w.Body.String() != restricted {
		t.Errorf("%d %q, want %q", w.Code, w.Body, restricted)
	}
}

// A page of somebody else can read a script, and the browser gives the password.
func TestScriptsAreForThoseOnlyWhoGiveNoPassword(t *testing.T) {
	closed, open := guarded(newGate(t, httpapi.GateOptions{})), guarded(newGate(t, httpapi.GateOptions{Realms: []httpapi.Realm{httpapi.Agents, httpapi.Readwrite}}))
	for path := range strings.FieldsSeq("/state /master/state.json/ /state-summary /slaves /frameworks /tasks /roles /flags /registrar(1)/registry") {
		for _, c := range []struct {
			h             http.Handler
			query, who    string
			status        int
			content, body string
		}{
			{closed, "?jsonp=f", basic("reader", "hush"), 403, "text/plain; charset=utf-8", "jsonp is not for who gives a password: every page that he visits could read the answer"},
			{closed, "?jsonp=f", "", 401, "text/plain; charset=utf-8", sayWho},
			{closed, "", basic("reader", "hush"), 200, "application/json", ""},
			{open, "?jsonp=f", "", 200, "text/javascript", ""},
		} {
			w := knock(c.h, http.MethodGet, path+c.query, "10.0.0.1", c.who)
			if w.Code != c.status || w.Header().Get("Content-Type") != c.content || w.Header().Get("X-Content-Type-Options") != "nosniff" || c.body != "" && w.Body.String() != c.body {
				t.Errorf("%s%s as %q: %d, %v %.200s; want %d, %s %s", path, c.query, c.who, w.Code, w.Header(), w.Body, c.status, c.content, c.body)
			}
		}
	}
	if w := knock(closed, http.MethodGet, "/version?jsonp=f", "10.0.0.1", ""); w.Code != 200 || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("/version: %d, %v", w.Code, w.Header())
	}
}

func TestHandlersKnowWhoAsks(t *testing.T) {
	h := guarded(newGate(t, httpapi.GateOptions{}))
	if got := knock(h, http.MethodPost, "/api/v1/agent", "10.0.0.1", basic("agent", "other")).Body.String(); got != "agent sees []" {
		t.Error(got)
	}
	open := guarded(newGate(t, httpapi.GateOptions{Realms: []httpapi.Realm{httpapi.Readonly}}))
	if got := knock(open, http.MethodPost, "/api/v1/agent", "10.0.0.1", basic("agent", "x")).Body.String(); got != " sees []" {
		t.Errorf("a realm that is open looks at passwords: %s", got)
	}
	if got := knock(open, http.MethodGet, "/state", "10.0.0.1", ""); got.Code != 401 {
		t.Errorf("the realm that is not: %d", got.Code)
	}
}

func TestRolesNeedARealmThatAsks(t *testing.T) {
	const want = "credentials: number 4: roles: everybody sees everything while the realm readonly asks for no password: have it ask, or take the roles away"
	open := httpapi.GateOptions{Realms: []httpapi.Realm{httpapi.Agents, httpapi.Readwrite}, Logger: slog.New(slog.DiscardHandler)}
	if _, err := httpapi.NewGate(people(), open); err == nil || err.Error() != want {
		t.Errorf("a gate: %v", err)
	}
	g, err := httpapi.NewGate(people()[:3], open)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Replace(people()); err == nil || err.Error() != want {
		t.Errorf("a replacement: %v", err)
	}
}

// counted is a gate that counts what it compares, and the cost of each hash.
func counted(t *testing.T) (h http.Handler, g *httpapi.Gate, costs func() []int) {
	g = newGate(t, httpapi.GateOptions{Logger: slog.New(slog.DiscardHandler)})
	var list []int
	g.Compare(func(hash, password []byte) error {
		cost, err := bcrypt.Cost(hash)
		if err != nil {
			t.Error(err)
		}
		list = append(list, cost)
		return bcrypt.CompareHashAndPassword(hash, password)
	})
	return guarded(g), g, func() (all []int) { all, list = list, nil; return all }
}

func TestAPasswordThatIsRightIsComparedOnce(t *testing.T) {
	h, g, costs := counted(t)
	for range 3 {
		if w := knock(h, http.MethodGet, "/state", "10.0.0.1", basic("all", "hush")); w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
	}
	want(t, "comparisons", costs(), []int{4})
	for range 3 {
		knock(h, http.MethodGet, "/state", "10.0.0.1", basic("all", "wrong"))
	}
	want(t, "comparisons of a wrong one", costs(), []int{4, 4, 4})
	knock(h, http.MethodGet, "/state", "10.0.0.1", basic("reader", "hush"))
	want(t, "comparisons for another principal", costs(), []int{4})

	list := people()
	list[0].Realms, list[1].Bcrypt = []httpapi.Realm{httpapi.Agents}, hashOfOther
	if err := g.Replace(list); err != nil {
		t.Fatal(err)
	}
	want(t, "status in a realm that was taken away", knock(h, http.MethodGet, "/state", "10.0.0.1", basic("all", "hush")).Code, 403)
	want(t, "comparisons after the hash has stayed", costs(), nil)
	want(t, "status with the old password", knock(h, http.MethodGet, "/state", "10.0.0.1", basic("reader", "hush")).Code, 401)
	want(t, "status with the new password", knock(h, http.MethodGet, "/state", "10.0.0.1", basic("reader", "other")).Code, 200)
	want(t, "comparisons after the hash has changed", costs(), []int{5, 5})

	if err := g.Replace(list[1:]); err != nil {
		t.Fatal(err)
	}
	want(t, "status of who was removed", knock(h, http.MethodGet, "/state", "10.0.0.1", basic("all", "hush")).Code, 401)
	if err := g.Replace(nil); err == nil || err.Error() != "credentials: there are none, so that nobody could come in" {
		t.Error(err)
	}
	want(t, "status after a replacement of no use", knock(h, http.MethodGet, "/state", "10.0.0.1", basic("reader", "other")).Code, 200)
}

// The time of a refusal is that of a comparison, also for who is not there.
func TestRefusalsDoNotTellWhoExists(t *testing.T) {
	h, _, costs := counted(t)
	knock(h, http.MethodGet, "/state", "10.0.0.1", basic("nobody", "hush"))
	knock(h, http.MethodGet, "/state", "10.0.0.1", basic("", ""))
	want(t, "comparisons", costs(), []int{5, 5}) // the dearest
}

// bcrypt looks at 72 bytes. What goes on after them is another password.
func TestPasswordsThatBcryptWouldCutAreWrong(t *testing.T) {
	long := strings.Repeat("x", 72)
	hash, err := bcrypt.GenerateFromPassword([]byte(long), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	g, err := httpapi.NewGate([]httpapi.Credential{{Principal: "p", Bcrypt: string(hash), Realms: httpapi.Realms()}}, httpapi.GateOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h := guarded(g)
	for password, status := range map[string]int{long: 200, long + "y": 401, long[1:]: 401} {
		if w := knock(h, http.MethodGet, "/state", "10.0.0.1", basic("p", password)); w.Code != status {
			t.Errorf("%d bytes: %d, want %d", len(password), w.Code, status)
		}
	}
}

// held runs a test in a bubble with a gate whose comparisons last until the test
// lets them go.
func held(t *testing.T, test func(t *testing.T, h http.Handler, g *httpapi.Gate, begun *atomic.Int64, let chan struct{})) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, httpapi.GateOptions{Logger: slog.New(slog.DiscardHandler)})
		var begun atomic.Int64
		let := make(chan struct{})
		h := guarded(g)
		if w := knock(h, http.MethodGet, "/state", "10.0.0.1", basic("all", "hush")); w.Code != 200 {
			t.Fatal(w.Code)
		}
		g.Compare(func(hash, password []byte) error {
			begun.Add(1)
			<-let
			return bcrypt.CompareHashAndPassword(hash, password)
		})
		test(t, h, g, &begun, let)
	})
}

func TestAFloodOfGuessesIsToldToComeLaterAndKeepsNobodyOut(t *testing.T) {
	held(t, func(t *testing.T, h http.Handler, _ *httpapi.Gate, begun *atomic.Int64, let chan struct{}) {
		codes := make(chan int, 1000)
		guess := func(address string, n int) {
			codes <- knock(h, http.MethodGet, "/state", address, basic("all", fmt.Sprint(address, n))).Code
		}
		for from := range 7 {
			for n := range 9 {
				go guess(fmt.Sprintf("10.0.1.%d", from), n)
			}
		}
		synctest.Wait()
		want(t, "those told to come later, where eight of each address wait", len(codes), 7)
		for from := range 9 {
			go guess(fmt.Sprintf("10.0.3.%d", from), 0)
		}
		synctest.Wait()
		want(t, "those told to come later, where 64 wait in all", len(codes), 8)
		if n := begun.Load(); n < 1 || n > 64/2 {
			t.Errorf("%d comparisons at a time", n)
		}
		w := knock(h, http.MethodGet, "/state", "10.0.2.1", basic("reader", "hush"))
		if w.Code != 503 || w.Header().Get("Retry-After") != "5" || w.Body.String() != "too many passwords are being looked at: try again later" {
			t.Errorf("somebody new: %d, Retry-After %q, %s", w.Code, w.Header().Get("Retry-After"), w.Body)
		}
		if w := knock(h, http.MethodGet, "/state", "10.0.1.1", basic("all", "hush")); w.Code != 200 {
			t.Errorf("somebody who has come in before: %d %s", w.Code, w.Body)
		}
		close(let)
		synctest.Wait()
		seen := map[int]int{}
		for range 72 {
			seen[<-codes]++
		}
		want(t, "answers", seen, map[int]int{401: 64, 503: 8})
		if w := knock(h, http.MethodGet, "/state", "10.0.2.1", basic("reader", "hush")); w.Code != 200 {
			t.Errorf("somebody new, later: %d %s", w.Code, w.Body)
		}
	})
}

// After a restart no password is known to be right.
func TestThoseWhoHaveBeenWrongKeepNobodyOutWhoHasNot(t *testing.T) {
	held(t, func(t *testing.T, h http.Handler, _ *httpapi.Gate, begun *atomic.Int64, let chan struct{}) {
		codes := make(chan int, 1000)
		guesses := 0
		guess := func(from int) {
			guesses++
			go func(n int) {
				codes <- knock(h, http.MethodGet, "/state", fmt.Sprintf("10.0.1.%d", from), basic("all", fmt.Sprint(n))).Code
			}(guesses)
			synctest.Wait()
		}
		heard := func(what string, want ...int) {
			t.Helper()
			synctest.Wait()
			for _, code := range want {
				select {
				case got := <-codes:
					if got != code {
						t.Errorf("%s: %d, want %d", what, got, code)
					}
				default:
					t.Errorf("%s: no answer, want %d", what, code)
				}
			}
			if len(codes) > 0 {
				t.Errorf("%s: %d answers more", what, len(codes))
			}
		}
		for from := range 12 {
			guess(from)
			let <- struct{}{}
			heard("the first guess", 401)
		}
		for range 8 {
			guess(0)
			guess(1)
		}
		heard("the places of those who guess")
		atOnce := max(1, runtime.GOMAXPROCS(0)/8)
		want(t, "comparisons at a time", begun.Load()-12, int64(atOnce))
		for from := range 12 {
			guess(from)
			heard("guesses beyond them", 503)
		}

		go func() { codes <- knock(h, http.MethodGet, "/state", "10.0.2.1", basic("reader", "hush")).Code }()
		synctest.Wait()
		for range atOnce {
			let <- struct{}{}
			heard("a guess that was before a right password", 401)
		}
		let <- struct{}{}
		heard("the right password", 200)

		for range atOnce {
			guess(2)
		}
		heard("the places that are free again")
		guess(5)
		heard("a guess beyond them", 503)
		want(t, "a right password that is known", knock(h, http.MethodGet, "/state", "10.0.1.5", basic("all", "hush")).Code, 200)
		guess(5)
		heard("a guess of who has been right since")
		time.Sleep(time.Minute)
		guess(6)
		heard("a guess after a minute")
		close(let)
	})
}

// All agents of a cluster may have one password, and all come at once.
func TestThoseWhoGiveTheSamePasswordWaitForOneComparison(t *testing.T) {
	held(t, func(t *testing.T, h http.Handler, _ *httpapi.Gate, begun *atomic.Int64, let chan struct{}) {
		codes := make(chan int, 1000)
		for n := range 1000 {
			go func() {
				codes <- knock(h, http.MethodPost, "/api/v1/agent", fmt.Sprintf("10.0.%d.%d", n/250, n%250), basic("agent", "other")).Code
			}()
		}
		synctest.Wait()
		want(t, "answers", len(codes), 0)
		want(t, "comparisons", begun.Load(), 1)
		close(let)
		for range 1000 {
			want(t, "status", <-codes, 200)
		}
		want(t, "comparisons", begun.Load(), 1)
	})
}

func TestAClientThatGoesDoesNotEndTheComparisonThatOthersWaitFor(t *testing.T) {
	held(t, func(t *testing.T, h http.Handler, _ *httpapi.Gate, begun *atomic.Int64, let chan struct{}) {
		ask := func(ctx context.Context) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/state", nil)
			r.Header.Set("Authorization", basic("reader", "hush"))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		cores := max(1, runtime.GOMAXPROCS(0)/2)
		for n := range cores {
			go knock(h, http.MethodGet, "/state", fmt.Sprintf("10.0.4.%d", n), basic("all", fmt.Sprint(n)))
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go ask(ctx) // waits for a core
		synctest.Wait()
		codes := make(chan int, 1)
		go func() { codes <- ask(t.Context()).Code }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		want(t, "comparisons at a time", begun.Load(), int64(cores))
		close(let)
		want(t, "status", <-codes, 200)
	})
}

func TestAPasswordIsComparedWithTheHashThatHolds(t *testing.T) {
	held(t, func(t *testing.T, h http.Handler, g *httpapi.Gate, _ *atomic.Int64, let chan struct{}) {
		codes := [2]chan int{make(chan int, 1), make(chan int, 1)}
		for _, code := range codes {
			go func() { code <- knock(h, http.MethodGet, "/state", "10.0.0.1", basic("reader", "hush")).Code }()
			synctest.Wait()
			list := people()
			list[1].Bcrypt = hashOfOther
			if err := g.Replace(list); err != nil {
				t.Fatal(err)
			}
		}
		close(let)
		want(t, "status of who came before", <-codes[0], 200)
		want(t, "status of who came after", <-codes[1], 401)
	})
}

// A body that stays open, as an agent's does, keeps nobody waiting for a refusal.
func TestRefusalsComeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		server := &http.Server{Handler: guarded(newGate(t, httpapi.GateOptions{}))}
		go server.Serve(l)
		conn, start := l.dial(t), time.Now()
		d := open(t, conn, asJSON, chunk(frame(subscribe)))
		want(t, "status", d.answer.StatusCode, 401)
		want(t, "time", time.Since(start), 0)
		want(t, "the connection is closed", d.answer.Close, true)
		conn.Close()
		server.Close()
	})
}

func TestGuessesAreLoggedWithoutWhatWasGuessed(t *testing.T) {
	var log bytes.Buffer
	h := guarded(newGate(t, httpapi.GateOptions{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}))
	for range 3 {
		knock(h, http.MethodGet, "/state", "10.0.0.7", basic("my password", "s3cret"))
	}
	_, line, _ := strings.Cut(log.String(), " ")
	if want := `level=WARN msg="somebody has given a wrong principal or password" address=10.0.0.7:1234 realm=readonly` + "\n"; line != want {
		t.Errorf("log: %s\nwant %s", line, want)
	}
}
