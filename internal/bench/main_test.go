package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// victimEnv makes this test binary the process that is killed.
const victimEnv = "REGTOOL_BENCH_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimEnv) != "" {
		fmt.Fprintln(os.Stderr, RunVictim(context.Background(), os.Stdin, os.Stdout))
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

func testVictim(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"=1")
	return cmd
}
