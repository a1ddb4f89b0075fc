package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/eaba02dc/registrar/master"
	"github.com/eaba02dc/registrar/master/httpapi"
	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
)

// childEnv makes this test binary one of the processes that are measured.
const childEnv = "REGISTRAR_BENCH_CHILD"

var children = map[string]func() error{
	"victim": func() error { return RunVictim(context.Background(), os.Stdin, os.Stdout) },
	"floor":  func() error { return RunFailoverFloor(os.Stdin, os.Stdout) },
	"master": func() error { return serveTestMaster(os.Args[1], os.Args[2]) },
}

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		fmt.Fprintln(os.Stderr, children[child]())
		os.Exit(1)
	}
	if os.Getenv(stateClientEnv) != "" {
		if err := RunStateClient(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func testChild(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	return cmd
}

func testVictim(ctx context.Context) *exec.Cmd { return testChild(ctx, "victim") }

func testFloor(ctx context.Context) *exec.Cmd { return testChild(ctx, "floor") }

func testMaster(ctx context.Context, dir string, port int) *exec.Cmd {
	return testChild(ctx, "master", dir, fmt.Sprint(port))
}

// serveTestMaster takes in agents at a port until stdin ends.
func serveTestMaster(dir, port string) error {
	quiet := slog.New(slog.DiscardHandler)
	l, err := wal.Open(dir, wal.Options{Logger: quiet})
	if errors.Is(err, wal.ErrNotExist) {
		l, err = wal.Create(dir, wal.Options{Logger: quiet})
	}
	if err != nil {
		return err
	}
	info := registry.Master{ID: uuid.NewString()}
	r, err := registrar.Open(context.Background(), l, registrar.Options{Master: &info, Logger: quiet})
	if err != nil {
		return err
	}
	m, err := master.Start(context.Background(), r, master.Options{MasterInfo: info, Logger: quiet})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	go http.Serve(listener, httpapi.New(m, httpapi.Options{Logger: quiet,
		Agents: httpapi.AgentStream(m, httpapi.AgentStreamOptions{Logger: quiet})}))
	fmt.Println("serving")
	return ServeMeter(os.Stdin, os.Stdout)
}
