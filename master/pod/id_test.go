package pod

import (
	"strings"
	"testing"
	"time"
)

func TestAnIDHasOneForm(t *testing.T) {
	for text, want := range map[string]string{
		"/web": "/web", "web": "/web", "/web/front-1.eu": "/web/front-1.eu", "web/front/": "/web/front", "//web//front": "/web/front",
		"/web/../db": "/db", "../db": "/db", "./db": "/db",
	} {
		if got, err := ParseID(text); got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "/", "..", "/web/..", "/Web", "/web_front", "/web front", "/-web", "/web-", "/web..front", "/.web", "/w\x00", "/" + strings.Repeat("a", MaxID)} {
		if got, err := ParseID(text); err == nil {
			t.Errorf("%q was taken for %q", text, got)
		}
	}
}

func TestATaskIsFoundByItsExecutorOrItsLabels(t *testing.T) {
	for _, row := range []struct {
		is   string
		of   Names
		want Place // the zero value is none
	}{
		{"a pod of Marathon", Names{Task: "app.instance-caff1565-d0db.foo", Executor: "instance-app.caff1565-d0db", Name: "foo"}, Place{"/app", "app.instance-caff1565-d0db", "foo"}},
		{"with an incarnation", Names{Task: "web_front.instance-1.nginx.2", Executor: "instance-web_front.1", Name: "x"}, Place{"/web/front", "web_front.instance-1", "nginx"}},
		{"with a dot in the ID", Names{Task: "a.b.instance-1.c", Executor: "instance-a.b.1"}, Place{"/a.b", "a.b.instance-1", "c"}},
		{"a task with a name of its own", Names{Task: "t1", Executor: "instance-app.1", Name: "foo"}, Place{"/app", "app.instance-1", "foo"}},
		{"the older prefix", Names{Task: "app.marathon-1.foo", Executor: "marathon-app.1", Name: "foo"}, Place{"/app", "app.marathon-1", "foo"}},
		{"the labels", Names{Task: "t1", Executor: "e1", Name: "foo", Pod: "web/front", Instance: "blue"}, Place{"/web/front", "blue", "foo"}},
		{"the labels before the executor", Names{Task: "app.instance-1.foo", Executor: "instance-app.1", Name: "foo", Pod: "/b", Instance: "i"}, Place{"/b", "i", "foo"}},
		{"an application", Names{Task: "app.instance-1._app.1", Executor: "instance-app.1", Name: "app"}, Place{}},
		{"an application with an executor", Names{Task: "app.1", Executor: "marathon-app.1", Name: "app"}, Place{}},
		{"its own executor", Names{Task: "app.instance-1.foo", Name: "foo"}, Place{}},
		{"another executor", Names{Task: "app.instance-1.foo", Executor: "default", Name: "foo"}, Place{}},
		{"no instance", Names{Task: "t", Executor: "instance-app", Name: "foo"}, Place{}},
		{"no pod", Names{Task: "t", Executor: "instance-.1", Name: "foo"}, Place{}},
		{"an ID that no pod has", Names{Task: "t", Executor: "instance-App.1", Name: "foo"}, Place{}},
		{"a label that no pod has", Names{Task: "t", Executor: "instance-app.1", Name: "foo", Pod: "B", Instance: "i"}, Place{}},
	} {
		got, ok := Locate(row.of)
		if ok != (row.want != Place{}) || ok && got != row.want {
			t.Errorf("%s: got %+v, %v; want %+v", row.is, got, ok, row.want)
		}
	}
}

func TestSafePathsReadBack(t *testing.T) {
	if got := SafePath("/web/front"); got != "web_front" || fromSafePath(got) != "/web/front" {
		t.Errorf("got %q, and %q back", got, fromSafePath(got))
	}
}

func TestTimesHaveThreeDigitsExceptInJava(t *testing.T) {
	for _, row := range []struct {
		at         time.Time
		want, java string
	}{
		{time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, time.UTC), "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"},
		{time.Date(2026, 1, 2, 3, 4, 5, 10_000_000, time.FixedZone("", 3600)), "2026-01-02T02:04:05.010Z", "2026-01-02T02:04:05.010Z"},
		{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05Z"},
		{time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), "2026-01-02T03:04:00.000Z", "2026-01-02T03:04Z"},
	} {
		if got, java := FormatTime(row.at), javaTime(row.at); got != row.want || java != row.java {
			t.Errorf("got %s and %s, want %s and %s", got, java, row.want, row.java)
		}
		for _, text := range []string{row.want, row.java} {
			if got, err := ParseTime(text); err != nil || !got.Equal(row.at.Truncate(time.Millisecond)) {
				t.Errorf("%s reads back as %v, %v", text, got, err)
			}
		}
	}
}
