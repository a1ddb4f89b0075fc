package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/eaba02dc/registrar/internal/duration"
	"github.com/eaba02dc/registrar/master"
)

// rateValue is a rate as the value of a flag, written as Mesos does: 1/10mins.
type rateValue master.Rate

// Set implements [pflag.Value].
func (v *rateValue) Set(text string) error {
	if text == "" {
		*v = rateValue{}
		return nil
	}
	count, per, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	d, perErr := duration.Parse(per)
	if err != nil || perErr != nil || n < 1 || d <= 0 {
		return fmt.Errorf("%q is no rate: want a number and a time, as in 1/10mins", text)
	}
	*v = rateValue{Count: n, Per: d}
	return nil
}

// String is what Set reads.
func (v *rateValue) String() string {
	if v.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%s", v.Count, duration.Format(time.Duration(v.Per)))
}

// Type is the word for it in a command's help.
func (*rateValue) Type() string { return "rate" }

// percentValue is a share as the value of a flag: 0.5 is written 50%.
type percentValue float64

// Set implements [pflag.Value].
func (v *percentValue) Set(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !strings.HasSuffix(text, "%") || !(n > 0 && n <= 100) {
		return fmt.Errorf("%q is no share: want more than 0%% and at most 100%%, as in 50%%", text)
	}
	*v = percentValue(n / 100)
	return nil
}

// String is what Set reads.
func (v *percentValue) String() string {
	return strconv.FormatFloat(math.Round(float64(*v)*1e6)/1e4, 'f', -1, 64) + "%"
}

// Type is the word for it in a command's help.
func (*percentValue) Type() string { return "percent" }
