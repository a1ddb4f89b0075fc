package main

import (
	"fmt"
	"strings"
)

// podStatus is what is shown of a pod's status, as a master tells it in the form
// of Marathon.
type podStatus struct {
	ID          string
	Status      string
	StatusSince string
	Spec        struct {
		Scaling *struct{ Instances int }
	}
	Instances []podInstance
}

type podInstance struct {
	ID            string
	Status        string
	StatusSince   string
	Message       string
	AgentHostname string
	AgentID       string
}

// wanted is how many instances the pod is to have.
func (p podStatus) wanted() int {
	if p.Spec.Scaling == nil {
		return 1
	}
	return p.Spec.Scaling.Instances
}

func (p podStatus) count(status string) (n int) {
	for _, i := range p.Instances {
		n += one(i.Status == status)
	}
	return n
}

// others says what the instances are that are not stable, and how many nobody
// has reported.
func (p podStatus) others() string {
	var parts []string
	for _, status := range []string{"PENDING", "STAGING", "DEGRADED", "TERMINAL"} {
		if n := p.count(status); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if n := p.wanted() - len(p.Instances); n > 0 {
		parts = append(parts, fmt.Sprintf("%d not reported", n))
	}
	return strings.Join(parts, ", ")
}

func podStatusRows(pods []podStatus) [][]string {
	rows := make([][]string, len(pods))
	for i, p := range pods {
		rows[i] = []string{p.ID, p.Status, fmt.Sprintf("%d/%d", p.count("STABLE"), p.wanted()), p.StatusSince, p.others()}
	}
	return rows
}

// podStatusJSON is our own JSON form of it.
type podStatusJSON struct {
	Pod       string            `json:"pod"`
	Status    string            `json:"status"`
	Since     string            `json:"since"`
	Wanted    int               `json:"wanted"`
	Stable    int               `json:"stable"`
	Instances []podInstanceJSON `json:"instances"`
}

type podInstanceJSON struct {
	Instance      string `json:"instance"`
	Status        string `json:"status"`
	Since         string `json:"since"`
	AgentHostname string `json:"agent_hostname,omitzero"`
	AgentID       string `json:"agent_id,omitzero"`
	Message       string `json:"message,omitzero"`
}

func toPodStatusJSON(pods []podStatus) []podStatusJSON {
	all := make([]podStatusJSON, len(pods))
	for i, p := range pods {
		all[i] = podStatusJSON{
			Pod: p.ID, Status: p.Status, Since: p.StatusSince, Wanted: p.wanted(), Stable: p.count("STABLE"),
			Instances: make([]podInstanceJSON, len(p.Instances)),
		}
		for j, n := range p.Instances {
			all[i].Instances[j] = podInstanceJSON{n.ID, n.Status, n.StatusSince, n.AgentHostname, n.AgentID, n.Message}
		}
	}
	return all
}
