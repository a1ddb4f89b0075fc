package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What is wrong with a call is found by cobra and pflag. This file says it in
// words for people, and refuses what those two let pass.

// watchCalls sets cmd and all below it up for that.
func watchCalls(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		watchCalls(sub)
	}
	cmd.SetFlagErrorFunc(explainFlag)
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil { // which may set flags
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		return checkCall(cmd)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, list := f.Value.(pflag.SliceValue); list {
			return
		}
		if f.DefValue == "0s" { // which pflag knows to be nothing only of its own type
			f.DefValue = ""
		}
		f.Value = &once{Value: f.Value}
	})
}

// once is the value of a flag that may be given once: of two, the first would
// vanish in silence.
type once struct {
	pflag.Value
	given bool
}

var errTwice = errors.New("is given twice")

func (o *once) Set(text string) error {
	if o.given {
		return errTwice
	}
	o.given = true
	return o.Value.Set(text)
}

// valueForms says what the value of a flag looks like, by the flag's type.
var valueForms = map[string]string{
	"bool":     "true or false",
	"duration": "a duration in hours, minutes and seconds, as 24h, 90m or 1m30s",
	"float64":  "a number",
	"int":      "a whole number",
	"int64":    "a whole number",
	"intSlice": "whole numbers, as 1000,10000",
	"time":     "a time as 2026-01-02T15:04:05Z",
	"uint":     "a whole number from 0",
	"uint16":   "a number from 0 to 65535",
	"uint64":   "a whole number from 0",
}

// explainFlag says what is wrong with a flag.
func explainFlag(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return cmp.Or(subcommandOnly(cmd, args), err) // the flag is of a command that was not found
	}
	var (
		unknown *pflag.NotExistError
		bare    *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &unknown):
		name, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "=")
		if name != "" && cmd.Flags().Lookup(name) != nil {
			return fmt.Errorf("unknown flag -%[1]s: did you mean --%[1]s?", name)
		}
		if strings.ReplaceAll(unknown.GetSpecifiedName(), "_", "-") == "work-dir" && cmd.Flags().Lookup("dir") != nil {
			return fmt.Errorf("%w: the directory of the registry is --dir", err)
		}
	case errors.As(err, &bare):
		return fmt.Errorf("--%s needs a value", bare.GetFlag().Name)
	}
	return explainValue(err)
}

// explainValue says what is wrong with the value of a flag.
func explainValue(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	f := invalid.GetFlag()
	if errors.Is(err, errTwice) {
		return fmt.Errorf("--%s %w", f.Name, errTwice)
	}
	if form := valueForms[f.Value.Type()]; form != "" {
		return fmt.Errorf("--%s %q: use %s", f.Name, invalid.GetValue(), form)
	}
	return fmt.Errorf("--%s: %w", f.Name, invalid.Unwrap())
}

// neverEmpty are the flags for which an empty text has no meaning: it comes
// from a variable that is not set, and would pass for a flag not given.
var neverEmpty = []string{"dir", "file", "gone", "id", "old", "reason", "unreachable"}

// checkCall refuses flags that are missing, empty, or do not go together.
func checkCall(cmd *cobra.Command) error {
	var missing []string
	var empty error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case !f.Changed:
			if f.Annotations[cobra.BashCompOneRequiredFlag] != nil {
				missing = append(missing, "--"+f.Name)
			}
		case slices.Contains(neverEmpty, f.Name) && slices.ContainsFunc(texts(f), blank):
			empty = cmp.Or(empty, usagef("--%s is empty", f.Name))
		}
	})
	if len(missing) > 0 {
		return usagef("needs %s", strings.Join(missing, " and "))
	}
	if empty != nil {
		return empty
	}
	return explainGroup(cmd.ValidateFlagGroups())
}

func texts(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

var flagGroup = regexp.MustCompile(`\[([^\]]+)\]`)

// explainGroup puts cobra's two errors about several flags in other words.
func explainGroup(err error) error {
	if err == nil {
		return nil
	}
	group := flagGroup.FindStringSubmatch(err.Error())
	if group == nil {
		return err
	}
	names := strings.Fields(group[1])
	for i := range names {
		names[i] = "--" + names[i]
	}
	if strings.HasPrefix(err.Error(), "at least one") {
		return usagef("needs %s", strings.Join(names, " or "))
	}
	return usagef("%s do not go together", strings.Join(names, " and "))
}

// takes wants a number of arguments; what says which.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("takes %s, but was given %s", what, counted(len(args), "argument"))
		}
		return nil
	}
}
