package registrar

import (
	"context"
	"iter"
	"math"
	"time"

	"github.com/eaba02dc/registrar/registrar/store"
	"github.com/eaba02dc/registrar/registry"
)

// Image is all that goes along when a registry moves to another store: the
// registry at one place, and what became of the last requests ([Request]), so
// that one which is sent again gets its first answer there too. It does not
// change. The log of how it came about is not a part of it.
type Image struct {
	Registry *registry.Registry
	// Identity is of the store that it was taken from, Mark the place there.
	Identity store.Identity
	Mark     store.Mark

	answers []*answer     // oldest first
	pace    time.Duration // see Chunks
}

// LoadImage reads an image out of a store, and proves it as [Load] does. It
// writes nothing, and leaves s open.
func LoadImage(ctx context.Context, s store.Store) (*Image, error) {
	answers := newRequests(math.MaxInt)
	reg, found, err := newLoader(s, math.MaxUint64, answers).load(ctx, s)
	if err != nil {
		return nil, err
	}
	return &Image{Registry: reg, Identity: found.Identity, Mark: found.Mark, answers: answers.upTo(math.MaxUint64)}, nil
}

// Image returns what is durable now. Like [Registrar.Snapshot] it holds nobody
// up, but copies the list of remembered requests. Its Chunks take their time.
func (r *Registrar) Image() *Image {
	i := r.image(r.current.Load())
	i.pace = pace
	return i
}

func (r *Registrar) image(p *point) *Image {
	id := r.recovery.Identity
	id.Epoch = max(id.Epoch, p.mark.Epoch)
	return &Image{Registry: p.registry, Identity: id, Mark: p.mark, answers: r.requests.upTo(p.mark.Seq)}
}

// Requests is how many requests it remembers.
func (i *Image) Requests() int { return len(i.answers) }

// longestRest bounds a rest where a chunk took so long because it was waited for.
const longestRest = 20 * time.Millisecond

// Chunks encodes the image as a checkpoint holds it, in chunks of about 256
// KiB: the registry, then the requests. A chunk is valid until the next is
// asked for. In the image of a registrar that runs, each is followed by a rest of
// 2 ms, as in its checkpoints, or of four times what was done with the chunk if
// that is longer, up to 20 ms: to compress it takes a processor from the
// registrar, and may take a fifth of one; to send it takes none.
func (i *Image) Chunks() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rested := yield
		if i.pace > 0 {
			rested = func(chunk []byte) bool {
				began := time.Now()
				more := yield(chunk)
				time.Sleep(min(max(i.pace, 4*time.Since(began)), longestRest))
				return more
			}
		}
		for chunk := range i.Registry.Chunks(chunkBytes) {
			if !rested(chunk) {
				return
			}
		}
		for chunk := range encodeRequests(i.answers, chunkBytes) {
			if !rested(chunk) {
				return
			}
		}
	}
}
