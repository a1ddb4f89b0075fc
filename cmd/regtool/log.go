package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eaba02dc/registrar/registrar"
	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
	"github.com/eaba02dc/registrar/wal"
	"github.com/eaba02dc/registrar/wal/live"
)

func newLogCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Tell what changed in a registry, when, by whom and why",
		Long: `Log lists the operations that changed a registry, oldest first: the revision
that each led to, when it was decided (by the clock of the writer), who asked
for it and why, and what it changed. A request with an ID is told of even if it
changed nothing, and why if it was refused.

The log reaches back as far as the registry keeps it; see "records" of regtool
inspect. What is older is an error that names the oldest revision there is.

With --follow it goes on with what is written from then on, until it is
interrupted: it looks once a second. Where a process has the registry open, it
is read through that process; what one writes that lets nobody read is told once
it has ended. A process cannot open a registry for writing in the moment in
which this command looks at its files: it may be tried again.

Where DIR is replaced under it, by a backup or another registry, or a loss of
records is accepted, what it told is not all so any more: it says so and exits
with 1. It knows by the last record that it told: number, epoch, revision, time,
and the digest of the registry there.`,
		Example: `  regtool log --dir /var/lib/registry
  regtool log --dir /var/lib/registry --from 4711 --to 4720 --json
  regtool log --dir /var/lib/registry --follow`,
		Args: noArguments,
	}
	var l logCommand
	l.reading.placeFlags(cmd)
	acceptLossFlagTo(cmd, &l.reading.acceptLoss)
	cmd.Flags().BoolVar(&l.json, "json", false, "print a JSON document a line, for programs")
	cmd.Flags().Uint64Var(&l.from, "from", 0, "begin with the operation that led to this revision (default: the oldest that is kept)")
	cmd.Flags().Uint64Var(&l.to, "to", math.MaxUint64, "end with the operation that led to this revision (default: the last)")
	cmd.Flags().Lookup("to").DefValue = ""
	follow := cmd.Flags().Bool("follow", false, "go on with what is written from now on")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case l.to < l.from:
			return usagef("--to %d is before --from %d", l.to, l.from)
		case *follow && cmd.Flags().Changed("to"):
			return usagef("--follow has no end, and --to %d is one", l.to)
		}
		l.cmd, l.out = cmd, bufio.NewWriter(cmd.OutOrStdout())
		if !l.json {
			fmt.Fprintf(l.out, logLine, "REVISION", "TIME", "PRINCIPAL", "CHANGE", "REASON")
		}
		if *follow {
			return l.follow(cmd.Context())
		}
		return l.print(cmd.Context())
	}
	return cmd
}

// logCommand prints the log of one directory, piece by piece: while the
// directory is open, nobody can open it for writing, and whoever reads what is
// printed may take his time.
type logCommand struct {
	cmd      *cobra.Command
	out      *bufio.Writer
	reading  reading
	json     bool
	from, to uint64
	history  store.HistoryID
	last     registrar.Logged // the last record that was told, whole
	live     *seenLive        // from which process it was read last
	waiting  bool             // for a process that lets nobody read: it was said
}

// print prints what is there and was not told yet.
func (l *logCommand) print(ctx context.Context) error {
	for more, n := true, 1; more; n++ {
		var piece []registrar.Logged
		var err error
		if piece, more, err = l.piece(ctx); err != nil {
			if more = n < attempts && cutOff(err); more {
				continue
			}
			return err
		}
		n = 0
		for _, o := range piece {
			if err := l.line(o); err != nil {
				return err
			}
		}
		if err := l.out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// piece reads some operations, and says whether there may be more.
func (l *logCommand) piece(ctx context.Context) (piece []registrar.Logged, more bool, err error) {
	w, err := l.reading.open(l.cmd)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := l.sameHistory(w.Identity()); err != nil {
		return nil, false, err
	}
	l.tellLive(seenBy(w))
	const enough = 5000
	last := l.last // set once the piece is whole: else it is asked for again
	for o, err := range l.rest(ctx, w) {
		switch {
		case errors.Is(err, registrar.ErrReplaced):
			return nil, false, fmt.Errorf("%s: %w; what was told is not all so any more; run this again", l.reading.place(), err)
		case err != nil:
			return nil, false, l.reading.advise(fmt.Errorf("read %s: %w", l.reading.place(), err))
		case o.Revision > l.to:
			l.last = last
			return piece, false, nil
		case len(piece) >= enough && o.Record != last.Record:
			l.last = last
			return piece, true, nil
		}
		piece, last = append(piece, o), o
	}
	l.last = last
	return piece, false, nil
}

// rest is what was not told yet.
func (l *logCommand) rest(ctx context.Context, w readable) iter.Seq2[registrar.Logged, error] {
	if l.last.Record.Seq > 0 {
		return registrar.LogAfter(ctx, w, l.last)
	}
	return registrar.Log(ctx, w, l.from)
}

// tellLive says from whom it is read, when that changes.
func (l *logCommand) tellLive(now *seenLive) {
	if now != nil && (l.live == nil || l.live.PID != now.PID) {
		now.tell(l.cmd)
	}
	l.live = now
}

// sameHistory notices that what was told is no longer so.
func (l *logCommand) sameHistory(now store.Identity) error {
	ended := func(e store.Earlier) bool { return e.History == l.history }
	switch {
	case l.history == (store.HistoryID{}):
		l.history = now.History
		return nil
	case l.history == now.History:
		return nil
	case slices.ContainsFunc(now.Earlier, ended):
		return fmt.Errorf("%s goes on with history %s since a loss of records was accepted: what was told of history %s is not all so any more; run this again",
			l.reading.place(), now.History, l.history)
	}
	return fmt.Errorf("%s was replaced by another registry, of history %s: what was told is of history %s; run this again",
		l.reading.place(), now.History, l.history)
}

// follow prints what there is, again and again, until ctx ends: that is how
// one stops it, and no failure.
func (l *logCommand) follow(ctx context.Context) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		err := l.print(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, wal.ErrLocked) && !cutOff(err) {
			return err
		}
		if errors.Is(err, live.ErrNotServed) && !l.waiting {
			complain(l.cmd.ErrOrStderr(), l.cmd, err.Error()+"; this waits for it")
		}
		l.waiting = errors.Is(err, live.ErrNotServed)
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// logLine is a line for people: columns that are wide enough for most.
const logLine = "%-9v %-20v %-12v %-40v %v\n"

func (l *logCommand) line(o registrar.Logged) error {
	changes, err := changesOf(o)
	if err != nil {
		return err
	}
	if l.json {
		v, err := toLoggedJSON(o, changes)
		if err != nil {
			return err
		}
		line, err := jsonLine(v)
		if err != nil {
			return err
		}
		l.out.Write(line)
		return l.out.WriteByte('\n')
	}
	_, err = fmt.Fprintf(l.out, logLine, o.Revision, o.At.UTC().Format(time.RFC3339),
		orNone(harmless(o.Principal)), harmless(changesText(o, changes)), harmless(o.Reason))
	return err
}

func changesOf(o registrar.Logged) ([]registry.Change, error) {
	if o.Rows == nil {
		return nil, nil
	}
	var all []registry.Change
	for c, err := range registry.Changes(o.Rows) {
		if err != nil {
			return nil, fmt.Errorf("revision %d: %w", o.Revision, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// changesText says in a few words what an operation did.
func changesText(o registrar.Logged, changes []registry.Change) string {
	const most = 3
	var words []string
	for i, c := range changes {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(changes)-most))
			break
		}
		words = append(words, changeText(c))
	}
	switch {
	case o.Refusal != "":
		return fmt.Sprintf("request %s refused: %s", o.RequestID, o.Refusal)
	case len(words) == 0:
		return fmt.Sprintf("request %s changed nothing", o.RequestID)
	}
	return strings.Join(words, ", ")
}

func changeText(c registry.Change) string {
	what := c.Key
	if table, key, _, ok := c.Item(); ok {
		what = table + " " + key
	} else if c.Table != "agents" {
		what = strings.TrimSpace(c.Table + " " + c.Key)
	}
	switch {
	case c.Deleted:
		return what + " deleted"
	case c.Table == "agents":
		return what + " " + stateText(c.Agent.Status())
	}
	return what + " set"
}

func stateText(s registry.Status) string {
	if drain := drainText(s); drain != "" {
		return s.State.String() + " " + drain
	}
	return s.State.String()
}

// loggedJSON is an operation of the log for programs.
type loggedJSON struct {
	Revision  uint64       `json:"revision"`
	Record    uint64       `json:"record"`
	Epoch     uint64       `json:"epoch"`
	At        time.Time    `json:"at"`
	RequestID string       `json:"request_id,omitzero"`
	Principal string       `json:"principal,omitzero"`
	Reason    string       `json:"reason,omitzero"`
	Refusal   string       `json:"refusal,omitzero"`
	Changes   []changeJSON `json:"changes"`
}

// changeJSON is what became of an entry: an entryJSON, a masterJSON, a keyJSON or
// a podJSON, by the table; null if it was deleted. The table and key of a user table stand
// in Of.
type changeJSON struct {
	Table string   `json:"table"`
	Key   string   `json:"key,omitzero"`
	Of    *keyName `json:"of,omitempty"`
	Entry any      `json:"entry"`
}

func toLoggedJSON(o registrar.Logged, changes []registry.Change) (loggedJSON, error) {
	out := loggedJSON{
		Revision: o.Revision, Record: o.Record.Seq, Epoch: o.Record.Epoch, At: o.At.UTC(), RequestID: o.RequestID,
		Principal: o.Principal, Reason: o.Reason, Refusal: o.Refusal, Changes: []changeJSON{},
	}
	for _, c := range changes {
		v, err := toChangeJSON(c, o.Revision)
		if err != nil {
			return out, err
		}
		out.Changes = append(out.Changes, v)
	}
	return out, nil
}

func toChangeJSON(c registry.Change, revision uint64) (changeJSON, error) {
	out := changeJSON{Table: c.Table, Key: c.Key}
	table, key, value, isKey := c.Item()
	if isKey {
		name := toKeyName(table, key)
		out.Key, out.Of = "", &name
	}
	switch {
	case c.Deleted:
	case isKey:
		out.Entry = toKeyJSON(table, key, registry.Item{Value: value, Revision: revision})
	case c.Table == "agents":
		e, err := toEntryJSON(c.Agent)
		out.Entry = e
		return out, err
	default:
		if m, ok := c.Master(); ok {
			out.Entry = toMasterJSON(m)
		} else if p, ok := c.Pod(); ok {
			out.Entry = toPodJSON(p)
		}
	}
	return out, nil
}
