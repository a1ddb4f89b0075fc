package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/eaba02dc/registrar/registry"
)

const (
	identityVersion = 1
	maxPredecessors = 8
)

// identity is who an agent is, and what is in its state file.
type identity struct {
	Version int `json:"version"`
	// AgentID is empty while no master has made the agent a member.
	AgentID     registry.AgentID `json:"agent_id,omitempty"`
	Incarnation string           `json:"incarnation"`
	// BootID is of the boot at which Incarnation was drawn; empty if unknown.
	BootID string `json:"boot_id,omitempty"`
	// Predecessors are the incarnations of which the master may know one still:
	// those since the agent was last told that it is a member, and the one that
	// it was then. Which, the agent cannot know if it was cut short.
	Predecessors []string `json:"predecessors,omitempty"`
}

// loadIdentity reads a state file, and draws what has to be drawn.
func loadIdentity(path, boot string) (identity, error) {
	id, err := readIdentity(path)
	if err != nil {
		return id, err
	}
	if id.Incarnation != "" && boot != "" && id.BootID == boot {
		return id, nil
	}
	if id.Incarnation != "" && id.AgentID != "" {
		id.Predecessors = append(id.Predecessors, id.Incarnation)
		if len(id.Predecessors) > maxPredecessors {
			id.Predecessors = slices.Delete(id.Predecessors, 1, 2) // the first is the likeliest
		}
	}
	id.Incarnation, id.BootID = uuid.NewString(), boot
	return id, id.save(path)
}

func readIdentity(path string) (identity, error) {
	id := identity{Version: identityVersion}
	if path == "" {
		return id, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return id, nil
	}
	if err != nil {
		return id, fmt.Errorf("agent: read state file: %w", err)
	}
	if err := json.Unmarshal(data, &id); err != nil {
		return id, fmt.Errorf("agent: state file %s is damaged: %w: restore it, or remove it to join as a new agent", path, err)
	}
	if id.Version > identityVersion {
		return id, fmt.Errorf("agent: state file %s has version %d, of a newer agent: this one reads up to %d", path, id.Version, identityVersion)
	}
	if id.Version < 1 || id.Incarnation == "" {
		return id, fmt.Errorf("agent: state file %s is damaged: it has no version or incarnation: restore it, or remove it to join as a new agent", path)
	}
	if id.AgentID == "" {
		return id, nil
	}
	if err := id.AgentID.Validate(); err != nil {
		return id, fmt.Errorf("agent: state file %s is damaged: agent_id: %w: restore it, or remove it to join as a new agent", path, err)
	}
	return id, nil
}

// save puts the identity into the place of what the file had: after a crash the
// file has the one or the other.
func (id identity) save(path string) error {
	if path == "" {
		return nil
	}
	if err := id.replace(path); err != nil {
		return fmt.Errorf("agent: write state file: %w", err)
	}
	return nil
}

func (id identity) replace(path string) error {
	data, err := json.Marshal(id)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = cmp.Or(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return err
	}
	return syncDir(dir)
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// kernelBoot is what the kernel calls this boot of the machine, or empty.
func kernelBoot() string {
	data, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // Linux only
	return strings.TrimSpace(string(data))
}
