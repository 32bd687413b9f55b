// Package gateway is a client of the generation gateway: images, videos, characters, batches and chats.
//
// The types of bodies and answers are generated from the API's description; what submits, waits, repeats and downloads is by hand.
package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
)

// Options of a client. The zero value is a client for GATEWAY_URL with GATEWAY_KEY.
type Options struct {
	// The gateway's URL, with or without /v1. Defaults to the variable GATEWAY_URL.
	BaseURL string
	// Defaults to the variable GATEWAY_KEY.
	APIKey string
	// Until an attempt is given up; for streams and downloads, until they begin, and until each next part. Default two minutes.
	Timeout time.Duration
	// How often a request is repeated. Default 4; -1 is never.
	MaxRetries int
	// Headers of every request, such as Accept-Language.
	Headers map[string]string
	// Default http.DefaultClient. Its own Timeout would also end streams.
	HTTPClient *http.Client
	// Gets a line for each request (debug) and each repeat (warn). Keys and bodies are not logged.
	Logger *slog.Logger
}

// Client of a gateway, for any number of goroutines.
type Client struct {
	origin  string
	options Options
}

// New makes a client. It fails if there is no address or no key.
func New(options Options) (*Client, error) {
	if options.BaseURL == "" {
		options.BaseURL = os.Getenv("GATEWAY_URL")
	}
	if options.APIKey == "" {
		options.APIKey = os.Getenv("GATEWAY_KEY")
	}
	if options.BaseURL == "" {
		return nil, errors.New("the gateway's address is missing: BaseURL, or the variable GATEWAY_URL")
	}
	if options.APIKey == "" {
		return nil, errors.New("the key is missing: APIKey, or the variable GATEWAY_KEY")
	}
	if !strings.HasPrefix(options.BaseURL, "http://") && !strings.HasPrefix(options.BaseURL, "https://") {
		return nil, errors.New("the gateway's address does not begin with http:// or https://: " + options.BaseURL)
	}
	// A key that was read from a file ends with a line break.
	options.APIKey = strings.TrimSpace(options.APIKey)
	if options.Timeout == 0 {
		options.Timeout = 2 * time.Minute
	}
	if options.MaxRetries == 0 {
		options.MaxRetries = 4
	}
	if options.HTTPClient == nil {
		options.HTTPClient = http.DefaultClient
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	origin := strings.TrimSuffix(strings.TrimRight(options.BaseURL, "/"), "/v1")
	return &Client{origin, options}, nil
}

// With is the same client with other options, for some calls.
func (c *Client) With(change func(*Options)) *Client {
	options := c.options
	options.Headers = maps.Clone(options.Headers)
	change(&options)
	return &Client{c.origin, options}
}

// Do makes any call: a path of the API, a body (nil for none), and where its answer goes (nil to drop it).
func (c *Client) Do(ctx context.Context, method, path string, body, answer any) error {
	r := request{method: method, path: path, body: body}
	// Of the same key, so that a repeat is not another task. What has no key gets none: net/http may send a request with one again by itself.
	if method == http.MethodPost && !isOnce(r) {
		r.headers = map[string]string{"Idempotency-Key": newKey()}
	}
	return c.json(ctx, r, answer)
}

type request struct {
	method, path string
	query        url.Values
	// Bytes as they are, anything else as JSON.
	body    any
	headers map[string]string
}

var once = regexp.MustCompile(`(?i)^P.*/(chat|pay|admin|webhook_)`)

// isOnce is true if a repeat could do the work twice: chats, payments, rotations and an operator's changes have no key.
func isOnce(r request) bool { return once.MatchString(r.method + r.path) }

// json reads a whole answer; one that was cut or is no JSON is repeated.
func (c *Client) json(ctx context.Context, r request, answer any) error {
	return c.send(ctx, r, func(response *http.Response, body *limitedBody) error {
		defer body.Close()
		// The limit is for the whole answer.
		data, err := io.ReadAll(body.ReadCloser)
		if err != nil {
			return body.fault(err)
		}
		if answer == nil || len(data) == 0 {
			return nil
		}
		if err := json.Unmarshal(data, answer); err != nil {
			return body.fault(err)
		}
		return nil
	})
}

// open returns the answer as soon as its head is there. The caller closes its body.
func (c *Client) open(ctx context.Context, r request) (*http.Response, error) {
	var opened *http.Response
	err := c.send(ctx, r, func(response *http.Response, body *limitedBody) error {
		body.timer.Stop()
		response.Body = body
		opened = response
		return nil
	})
	return opened, err
}

// send repeats with growing pauses what did not arrive or was answered as busy or faulty.
func (c *Client) send(ctx context.Context, r request, read func(*http.Response, *limitedBody) error) error {
	for attempt := 0; ; attempt++ {
		err := c.attempt(ctx, r, read)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if attempt >= c.options.MaxRetries || !isPassing(err, isOnce(r)) {
			return err
		}
		pause := min(time.Minute, time.Second<<attempt/2)
		if refused := (*Error)(nil); errors.As(err, &refused) && refused.RetryAfter > 0 {
			pause = min(time.Minute, refused.RetryAfter)
		}
		pause += time.Duration(mathrand.Int64N(int64(pause)/4 + 1))
		c.options.Logger.Warn("repeat", "method", r.method, "path", r.path, "error", err, "pause", pause)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		// A repeat does not wait for the task: the key may have the maximum of waits open.
		r.query = maps.Clone(r.query)
		r.query.Del("wait")
	}
}

func (c *Client) attempt(given context.Context, r request, read func(*http.Response, *limitedBody) error) error {
	ctx, cancel := context.WithCancelCause(given)
	limit := &limitedBody{timeout: c.options.Timeout, cancel: cancel, ctx: ctx, given: given}
	limit.timer = time.AfterFunc(limit.timeout, func() { cancel(errTimeout) })
	address := r.path
	if !strings.Contains(address, "://") {
		address = c.origin + r.path
	}
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var content io.Reader
	isRaw := false
	if r.body != nil {
		data, ok := r.body.([]byte)
		if isRaw = ok; !isRaw {
			var err error
			if data, err = json.Marshal(r.body); err != nil {
				limit.end()
				return fmt.Errorf("the body is no JSON: %w", err)
			}
		}
		content = bytes.NewReader(data)
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, address, content)
	if err != nil {
		limit.end()
		return err
	}
	if content != nil && !isRaw {
		sent.Header.Set("Content-Type", "application/json")
	}
	// Without compression: a file is continued at a place in its bytes.
	sent.Header.Set("Accept-Encoding", "identity")
	// A key is sent to the API alone, not with links to files.
	if strings.HasPrefix(r.path, "/") || strings.HasPrefix(address, c.origin+"/v1/") {
		sent.Header.Set("Authorization", "Bearer "+c.options.APIKey)
		for name, value := range c.options.Headers {
			sent.Header.Set(name, value)
		}
	}
	for name, value := range r.headers {
		sent.Header.Set(name, value)
	}
	response, err := c.options.HTTPClient.Do(sent)
	if err != nil {
		limit.end()
		return limit.fault(err)
	}
	limit.ReadCloser, limit.hasBegun = response.Body, true
	c.options.Logger.Debug("request", "method", r.method, "path", sent.URL.Path, "status", response.StatusCode, "id", response.Header.Get("X-Request-Id"))
	if response.StatusCode >= 300 {
		defer limit.Close()
		data, err := io.ReadAll(response.Body)
		if err != nil {
			return limit.fault(err)
		}
		return toError(response.StatusCode, response.Header, data)
	}
	return read(response, limit)
}

// limitedBody is a body under a time limit, which runs only while its reader waits for the next part.
type limitedBody struct {
	io.ReadCloser
	timeout    time.Duration
	timer      *time.Timer
	ctx, given context.Context
	cancel     context.CancelCauseFunc
	hasBegun   bool
}

func (b *limitedBody) Read(part []byte) (int, error) {
	b.timer.Reset(b.timeout)
	n, err := b.ReadCloser.Read(part)
	b.timer.Stop()
	if err != nil && err != io.EOF {
		err = b.fault(err)
	}
	return n, err
}

func (b *limitedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func (b *limitedBody) end() {
	b.timer.Stop()
	b.cancel(nil)
}

// fault is the error of what did not arrive: the caller's own end, or a ConnectionError.
func (b *limitedBody) fault(err error) error {
	if b.given.Err() != nil {
		return b.given.Err()
	}
	if context.Cause(b.ctx) == errTimeout {
		return &ConnectionError{Err: errTimeout, HasBegun: b.hasBegun, IsTimeout: true}
	}
	return &ConnectionError{Err: err, HasBegun: b.hasBegun}
}

// sleep ends at once with the context.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// newKey is a random idempotency key.
func newKey() string { return rand.Text() }

// Ptr is a pointer to a value, for optional fields.
func Ptr[T any](value T) *T { return &value }
