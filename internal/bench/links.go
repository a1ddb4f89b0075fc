package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Links measures who is told how fast when a peer goes, beside the single map
// that libprocess scanned at each exit until 2014 (MESOS-2182). It is modelled
// on Mesos's Process_BENCHMARK_LargeNumberOfLinks.
type Links struct {
	// Links are how many links stand meanwhile, from 0 to [MaxLinks] each.
	Links []int
	// Exits is how many processes without links exit, from 1 to [MaxLinks]. As
	// many links are made and undone in churn.
	Exits int
	// Rounds is how often each is measured, at least 1; medians are reported.
	// One more repetition runs before them and does not count.
	Rounds int
	// Progress, if not nil, is called after each of Phases.
	Progress func()
}

// MaxLinks is the most links that can be measured: the naive map takes minutes
// for them.
const MaxLinks = 1_000_000

// maxNaiveStall is how many exits the naive map is asked for where the longest
// wait is sought. Fewer exits have fewer chances to keep somebody waiting, so
// this flatters the naive map; each of them is a whole scan, so not by much.
const maxNaiveStall = 500

// LinksReport is what was found, in the form of its JSON.
type LinksReport struct {
	Benchmark string      `json:"benchmark"`
	Host      Host        `json:"host"`
	Params    LinksParams `json:"params"`
	Results   []LinksRow  `json:"results"`
}

// LinksParams is how it was called.
type LinksParams struct {
	Links  []int `json:"links"`
	Exits  int   `json:"exits"`
	Rounds int   `json:"rounds"`
}

// LinksRow is one case with so many links: medians over the rounds. In the stall
// cases the seconds are the longest wait of one link or unlink.
type LinksRow struct {
	Case         string  `json:"case"`
	Links        int     `json:"links"`
	Seconds      float64 `json:"seconds"`
	Notices      int     `json:"notices"`
	NaiveSeconds float64 `json:"naive_seconds,omitzero"`
	Speedup      float64 `json:"speedup,omitzero"` // paired by round

	// What Mesos took for exits: in 2014 before and after its change, and in
	// version 1.12. Its processes' own cost is in all three.
	PublishedBefore float64 `json:"published_before_seconds,omitzero"`
	Published       float64 `json:"published_seconds,omitzero"`
	Mesos112        float64 `json:"mesos112_seconds,omitzero"`
}

// linkCase is one thing to measure, on a table of ours and on the naive map.
type linkCase struct {
	name  string
	ours  func(l linksAt) (linksSample, error)
	naive func(l linksAt) (linksSample, error)
	// notices is how many are due.
	notices func(l linksAt) int
}

// linksAt is the size of one measurement.
type linksAt struct{ links, exits int }

type linksSample struct {
	seconds float64
	notices int
}

var linkCases = []linkCase{
	{"exits", oursExits, naiveExits, none},
	{"node_loss", oursNodeLoss, naiveNodeLoss, all},
	{"fan_in", oursFanIn, naiveFanIn, all},
	{"churn", oursChurn, naiveChurn, none},
	{"stall_exits", oursStallExits, naiveStallExits, none},
	{"stall_node_loss", oursStallNodeLoss, naiveStallNodeLoss, all},
}

func none(linksAt) int  { return 0 }
func all(l linksAt) int { return l.links }

// Phases is how many phases Run goes through in all.
func (b Links) Phases() int { return len(b.Links) * (b.Rounds + 1) * len(linkCases) }

// Validate says what is wrong with the parameters, or nothing.
func (b Links) Validate() error {
	if len(b.Links) == 0 {
		return errors.New("no number of links is given")
	}
	for _, n := range b.Links {
		if n < 0 || n > MaxLinks {
			return fmt.Errorf("%d links: from 0 to %d can be measured", n, MaxLinks)
		}
	}
	if b.Exits < 1 || b.Exits > MaxLinks {
		return fmt.Errorf("%d exits: from 1 to %d can be measured", b.Exits, MaxLinks)
	}
	if b.Rounds < 1 {
		return fmt.Errorf("%d rounds: at least 1 is needed", b.Rounds)
	}
	return nil
}

// Run measures every number of links in turn. Ending ctx ends it with an error.
func (b Links) Run(ctx context.Context) (LinksReport, error) {
	if err := b.Validate(); err != nil {
		return LinksReport{}, err
	}
	report := LinksReport{
		Benchmark: "links", Host: thisHost(),
		Params: LinksParams{Links: b.Links, Exits: b.Exits, Rounds: b.Rounds},
	}
	// All sizes in each round: what is said of one beside the other must not
	// depend on when they were measured.
	rows := make([][]linksPair, len(b.Links)*len(linkCases))
	for round := range b.Rounds + 1 {
		for i := range rows {
			pair, err := b.pair(ctx, linkCases[i%len(linkCases)], linksAt{b.Links[i/len(linkCases)], b.Exits}, round)
			if err != nil {
				return LinksReport{}, err
			}
			if round > 0 {
				rows[i] = append(rows[i], pair)
			}
		}
	}
	for i, pairs := range rows {
		report.Results = append(report.Results, linksRow(linkCases[i%len(linkCases)], b.Links[i/len(linkCases)], pairs))
	}
	return report, nil
}

// linksPair is what a case took on both, in one round.
type linksPair struct {
	ours, naive linksSample
}

// pair measures one case on both, in turns each of them first. Without a link
// the naive map has nothing to scan, and is left out.
func (b Links) pair(ctx context.Context, c linkCase, at linksAt, round int) (p linksPair, err error) {
	if b.Progress != nil {
		defer b.Progress()
	}
	sides := []func() error{
		func() (err error) { p.ours, err = c.measure(c.ours, at); return err },
		func() (err error) { p.naive, err = c.measure(c.naive, at); return err },
	}
	if at.links == 0 {
		sides = sides[:1]
	} else if round%2 == 1 {
		slices.Reverse(sides)
	}
	for _, side := range sides {
		if err := errors.Join(ctx.Err(), side()); err != nil {
			return p, fmt.Errorf("measure %s with %d links: %w", c.name, at.links, err)
		}
	}
	return p, nil
}

func (c linkCase) measure(run func(linksAt) (linksSample, error), at linksAt) (linksSample, error) {
	s, err := run(at)
	if err == nil && s.notices != c.notices(at) {
		err = fmt.Errorf("%d notices were delivered, %d are due", s.notices, c.notices(at))
	}
	return s, err
}

func linksRow(c linkCase, links int, pairs []linksPair) LinksRow {
	var ours, naive, speedups []float64
	for _, p := range pairs {
		ours = append(ours, p.ours.seconds)
		naive = append(naive, p.naive.seconds)
		speedups = append(speedups, ratio(p.naive.seconds, p.ours.seconds))
	}
	row := LinksRow{
		Case: c.name, Links: links, Seconds: median(ours), Notices: pairs[0].ours.notices,
		NaiveSeconds: median(naive), Speedup: median(speedups),
	}
	if c.name == "exits" {
		row.PublishedBefore = linksBefore.seconds(links, c.name)
		row.Published = linksPublished.seconds(links, c.name)
		row.Mesos112 = linksMesos112.seconds(links, c.name)
	}
	return row
}

// Table is the report for people.
func (r LinksReport) Table() Table {
	t := Table{Header: []string{"case", "links", "ms", "notices", "naive ms", "x faster", "2014 ms", "2014 before ms", "mesos 1.12 ms"}}
	for _, row := range r.Results {
		t.Rows = append(t.Rows, []string{
			row.Case, strconv.Itoa(row.Links), milli(row.Seconds), strconv.Itoa(row.Notices), milli(row.NaiveSeconds),
			times(row.Speedup), milli(row.Published), milli(row.PublishedBefore), milli(row.Mesos112),
		})
	}
	return t
}
