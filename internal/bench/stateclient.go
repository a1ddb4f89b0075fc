package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// readJob is what a process of clients is asked to do, all lines at once.
type readJob struct {
	Address string
	Lines   []readLine
}

// readLine is one client that reads an answer, again and again, over one
// connection.
type readLine struct {
	User  string // who asks, as a URL has it: "name:password@"; "" is nobody
	Path  string
	Post  string        // the body of a POST; "" is a GET
	Kind  string        // of Post
	After time.Duration // from the beginning of the job to its first request
	Times int           // how often; 0 is until all that have an end are done
	For   time.Duration // or how long: no request but the first begins later; Times is 0 then
	Pause time.Duration // before each request but the first
}

// answerRead is one answer: from before the request is sent until its last byte is
// read.
type answerRead struct {
	Took  time.Duration
	Bytes int64
}

// readAnswer is what came of a job: what each line read, or an error.
type readAnswer struct {
	Lines [][]answerRead
	Took  time.Duration // until all lines were done
	Err   string
}

// RunStateClient is the process of those who ask. It is not that of the master,
// so that what a client does with an answer costs neither the master's scheduler
// nor its memory. It says that it is ready in a line on stdout, then does the
// jobs that come as lines on stdin and answers each with a line.
func RunStateClient(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return err
	}
	jobs, answers := json.NewDecoder(stdin), json.NewEncoder(stdout)
	for {
		var job readJob
		if err := jobs.Decode(&job); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var answer readAnswer
		begun := time.Now()
		var err error
		if answer.Lines, err = job.run(ctx); err != nil {
			answer.Err = err.Error()
		}
		answer.Took = time.Since(begun)
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}

// run reads with all lines. Those that have no end take their last answer whole.
func (job readJob) run(ctx context.Context) ([][]answerRead, error) {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: len(job.Lines), ReadBufferSize: readSize}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	all := make([][]answerRead, len(job.Lines))
	begun, over := time.Now(), make(chan struct{})
	finite, endless := new(errgroup.Group), new(errgroup.Group)
	for i, line := range job.Lines {
		group := finite
		if line.Times == 0 && line.For == 0 {
			group = endless
		}
		group.Go(func() (err error) {
			all[i], err = line.read(ctx, client, job.Address, begun, over)
			return err
		})
	}
	err := finite.Wait()
	close(over)
	return all, errors.Join(err, endless.Wait())
}

// readSize is how much is read at once: no more system calls than need be.
const readSize = 256 << 10

func (line readLine) read(ctx context.Context, client *http.Client, address string, begun time.Time, over <-chan struct{}) (all []answerRead, err error) {
	buf := make([]byte, readSize)
	pause := time.Until(begun.Add(line.After))
	for line.Times == 0 || len(all) < line.Times {
		if err := rest(ctx, pause); err != nil {
			return all, err
		}
		if line.done(len(all), begun, over) {
			return all, nil
		}
		r, err := readOnce(ctx, client, "http://"+line.User+address+line.Path, line.request, buf)
		if err != nil {
			return all, err
		}
		all = append(all, r)
		pause = line.Pause
	}
	return all, nil
}

// rest waits. No time is none: a timer would cost more than a small answer.
func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// done reports whether a line that has no number of requests makes none any more,
// after so many.
func (line readLine) done(requests int, begun time.Time, over <-chan struct{}) bool {
	if line.For > 0 {
		return requests > 0 && time.Since(begun) >= line.For
	}
	return line.Times == 0 && closed(over)
}

// request is what a line sends.
func (line readLine) request(ctx context.Context, url string) (*http.Request, error) {
	if line.Post == "" {
		return http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(line.Post))
	if err == nil {
		r.Header.Set("Content-Type", line.Kind)
		r.Header.Set("Accept", line.Kind)
	}
	return r, err
}

func readOnce(ctx context.Context, client *http.Client, url string, ask func(context.Context, string) (*http.Request, error), buf []byte) (r answerRead, err error) {
	request, err := ask(ctx, url)
	if err != nil {
		return r, err
	}
	begun := time.Now()
	answer, err := client.Do(request)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	for err == nil {
		var n int
		n, err = answer.Body.Read(buf)
		r.Bytes += int64(n)
	}
	r.Took = time.Since(begun)
	if !errors.Is(err, io.EOF) {
		return r, fmt.Errorf("read %s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK {
		return r, fmt.Errorf("%s answered %s", url, answer.Status)
	}
	return r, nil
}

// stateClient is that process.
type stateClient struct{ *child }

func startStateClient(cmd *exec.Cmd) (stateClient, error) {
	c, _, err := startChild(cmd)
	return stateClient{c}, err
}

func (c stateClient) read(job readJob) ([][]answerRead, error) {
	answer, err := c.do(job)
	return answer.Lines, err
}

func (c stateClient) do(job readJob) (answer readAnswer, err error) {
	line, err := json.Marshal(job)
	if err != nil {
		return answer, err
	}
	if _, err = c.stdin.Write(append(line, '\n')); err != nil {
		return answer, c.died("ask", err)
	}
	if line, err = c.stdout.ReadBytes('\n'); err != nil {
		return answer, c.died("ask", err)
	}
	if err = json.Unmarshal(line, &answer); err == nil && answer.Err != "" {
		err = errors.New(answer.Err)
	}
	return answer, err
}

// readOne reads one answer.
func (c stateClient) readOne(address, path string) (answerRead, error) {
	return c.readLine(address, readLine{Path: path})
}

// readLine reads what a line asks for, once.
func (c stateClient) readLine(address string, line readLine) (answerRead, error) {
	line.Times = 1
	lines, err := c.read(readJob{address, []readLine{line}})
	if err != nil {
		return answerRead{}, err
	}
	return lines[0][0], nil
}

// readBody reads one answer in this process, whole.
func readBody(ctx context.Context, url string) ([]byte, error) { return readLine{}.body(ctx, url) }

func (line readLine) body(ctx context.Context, url string) ([]byte, error) {
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	request, err := line.request(ctx, url)
	if err != nil {
		return nil, err
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", url, answer.Status)
	}
	return io.ReadAll(bufio.NewReaderSize(answer.Body, readSize))
}
