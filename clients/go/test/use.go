// A program that uses the package, run by test/packages: against the gateway, and behind a proxy that loses and changes answers.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"gateway.example/go"
)

var proxy = os.Getenv("PROXY_URL")

func must[T any](value T, err error) T {
	if err != nil {
		log.Panic(err)
	}
	return value
}

func fault(name string, counts ...int) {
	count, pass := 1, 0
	if len(counts) > 0 {
		count = counts[0]
	}
	if len(counts) > 1 {
		pass = counts[1]
	}
	sent := must(http.NewRequest("PUT", fmt.Sprintf("%s/faults/%s/%d/%d", proxy, name, count, pass), nil))
	must(http.DefaultClient.Do(sent)).Body.Close()
}

func requests() []string {
	answer := must(http.Get(proxy + "/faults"))
	defer answer.Body.Close()
	var seen []string
	if err := json.NewDecoder(answer.Body).Decode(&seen); err != nil {
		log.Panic(err)
	}
	return seen
}

// roundTripper answers requests without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func isConnection(err error) bool {
	var cut *gateway.ConnectionError
	return errors.As(err, &cut)
}

func isTimeout(err error) bool {
	var cut *gateway.ConnectionError
	return errors.As(err, &cut) && cut.IsTimeout
}

func refusal(err error) *gateway.Error {
	var refused *gateway.Error
	if !errors.As(err, &refused) {
		log.Panicf("not refused: %v", err)
	}
	return refused
}

func main() {
	ctx := context.Background()
	// The address and the key are read from GATEWAY_URL and GATEWAY_KEY.
	client := must(gateway.New(gateway.Options{}))
	image := gateway.ImageRequest{Model: "imgA-4", Prompt: "A lighthouse " + rand.Text(), N: gateway.Ptr(2)}
	key, progress := rand.Text(), []int{}
	watch := gateway.OnProgress(func(task gateway.Task) { progress = append(progress, task.Progress) })
	made := must(client.Generate(ctx, gateway.Images, image, gateway.WithIdempotencyKey(key), watch))
	again := must(client.Generate(ctx, gateway.Images, image, gateway.WithIdempotencyKey(key)))
	var types, names []string
	var png []byte
	for _, link := range made.Files() {
		file := must(client.Download(ctx, link))
		types, names = append(types, file.Type), append(names, file.Name)
		png = must(io.ReadAll(file))
		file.Close()
	}
	film := gateway.VidA2Request{Model: "vidA-2", Prompt: "A lighthouse", Duration: gateway.Ptr(gateway.VidA2RequestDuration(10))}
	video := must(client.Generate(ctx, gateway.Videos, film))
	saved := must(must(client.Download(ctx, video.Files()[0])).Save(""))
	size := must(os.Stat(saved)).Size()

	wrong := image
	wrong.N, wrong.Size = gateway.Ptr(9), gateway.Ptr(gateway.ImageRequestSize("5:4"))
	_, err := client.Submit(ctx, gateway.Images, wrong)
	refused := refusal(err)
	var params []string
	for _, detail := range refused.Details {
		params = append(params, detail.Param)
	}
	slices.Sort(params)
	flagged := image
	flagged.Prompt = "sandbox:flag"
	_, err = client.Generate(ctx, gateway.Images, flagged)
	var failed *gateway.TaskFailedError
	if !errors.As(err, &failed) {
		log.Panic(err)
	}
	if _, err := gateway.New(gateway.Options{BaseURL: "127.0.0.1:8787"}); err == nil || !strings.Contains(err.Error(), "http://") {
		log.Panic(err)
	}
	must(must(gateway.New(gateway.Options{APIKey: os.Getenv("GATEWAY_KEY") + "\n"})).Task(ctx, made.ID))
	// A task that takes longer than the time limit of a request, without repeats.
	must(client.With(func(o *gateway.Options) { o.Timeout, o.MaxRetries = 4*time.Second, -1 }).
		Generate(ctx, gateway.Videos, gateway.VidA2Request{Model: "vidA-2", Prompt: "Within the limit"}))
	_, err = must(gateway.New(gateway.Options{APIKey: "sk-nothing"})).Chat(ctx, gateway.ChatRequest{})
	stranger := refusal(err)

	question := gateway.ChatRequest{Model: "textA-1-mini", Messages: []gateway.Message{gateway.TextMessage("user", "What is a lighthouse?")}}
	text := ""
	for chunk, err := range client.ChatStream(ctx, question) {
		if err != nil {
			log.Panic(err)
		}
		for _, choice := range chunk.Choices {
			if choice.Delta.Content != nil {
				text += *choice.Delta.Content
			}
		}
	}
	whole := must(client.Chat(ctx, question))
	followed := must(client.Submit(ctx, gateway.Images, gateway.ImageRequest{Model: "imgA-4", Prompt: rand.Text()}))
	var states []string
	for task, err := range client.Stream(ctx, followed.ID) {
		states = append(states, string(must(task, err).Status))
	}
	uploaded := must(client.Upload(ctx, bytes.NewReader(png)))
	edit := gateway.ImageRequest{Model: "imgB-4o-image", Prompt: "Snow " + rand.Text(), Images: &[]string{uploaded.ID}}
	edited := must(client.Generate(ctx, gateway.Images, edit))

	// Delivery to a bucket: a presigned URL of the test's proxy.
	still := gateway.ImageRequest{Model: "imgA-4", Prompt: "Delivered " + rand.Text()}
	to := func(name string) gateway.CallOption {
		return gateway.WithDelivery(gateway.DeliverTo{URL: gateway.Ptr(proxy + "/bucket/" + name)})
	}
	delivered := must(client.Generate(ctx, gateway.Images, still, to("image?signature=x")))
	answer := must(http.Get(proxy + "/bucket/image"))
	stored := must(io.ReadAll(answer.Body))
	answer.Body.Close()
	own := must(io.ReadAll(must(client.Download(ctx, delivered.Files()[0]))))
	var undelivered *gateway.DeliveryFailedError
	if _, err := client.Generate(ctx, gateway.Images, still, to("forbidden")); !errors.As(err, &undelivered) {
		log.Panic(err)
	}

	// Delivered again, to a bucket that refuses the first time: a task, and a line of a batch.
	_, err = client.Generate(ctx, gateway.Images, still, to("repaired-task"))
	var late *gateway.DeliveryFailedError
	if !errors.As(err, &late) {
		log.Panic(err)
	}
	redelivered := must(client.Deliver(ctx, late.Task.ID))
	for redelivered.Delivery.Status == "pending" {
		time.Sleep(200 * time.Millisecond)
		redelivered = must(client.Task(ctx, late.Task.ID))
	}
	line := must(json.Marshal(map[string]any{"custom_id": "a", "endpoint": gateway.Images, "body": map[string]any{
		"model": still.Model, "prompt": still.Prompt, "deliver_to": map[string]any{"url": proxy + "/bucket/repaired-line"}}}))
	input := must(client.Upload(ctx, bytes.NewReader(line), gateway.WithExpiry(2*time.Hour)))
	shipped := must(client.CreateBatch(ctx, gateway.NewBatch{InputFile: &input.ID}))
	settle := func(count func(gateway.Batch) int64) int64 {
		for {
			if batch := must(client.Batch(ctx, shipped.ID)); batch.Deliveries != nil && count(batch) > 0 {
				return count(batch)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	closed := settle(func(batch gateway.Batch) int64 { return batch.Deliveries.Failed })
	repeated := must(client.DeliverBatch(ctx, shipped.ID)).Deliveries.Failed
	opened := settle(func(batch gateway.Batch) int64 { return batch.Deliveries.Delivered })

	// A bucket of the account: added, listed, removed. Files are listed, read and removed by the same calls.
	shop := gateway.DestinationChange{Kind: "s3", Endpoint: "https://s3.eu-central-1.amazonaws.com", Region: "eu-central-1", Bucket: "pictures",
		AccessKeyID: "a", SecretAccessKey: "b"}
	var destination gateway.Destination
	if err := client.Do(ctx, "PUT", gateway.Destinations+"/own", shop, &destination); err != nil {
		log.Panic(err)
	}
	var destinations []string
	for one, err := range gateway.List[gateway.Destination](ctx, client, gateway.Destinations, nil) {
		destinations = append(destinations, must(one, err).Name)
	}
	if err := client.Do(ctx, "DELETE", gateway.Destinations+"/own", nil, nil); err != nil {
		log.Panic(err)
	}
	removed := refusal(client.Do(ctx, "GET", gateway.Destinations+"/own", nil, nil))
	inputPath := gateway.Files + "/" + input.ID
	isKept := bytes.Equal(must(io.ReadAll(must(client.Download(ctx, inputPath+"/content")))), line)
	files := 0
	for one, err := range gateway.List[gateway.StoredFile](ctx, client, gateway.Files, nil) {
		if id := must(one, err).ID; id == input.ID || id == uploaded.ID {
			files++
		}
	}
	if err := client.Do(ctx, "DELETE", inputPath, nil, nil); err != nil {
		log.Panic(err)
	}

	var lines []any
	for n := range 3 {
		body := map[string]any{"model": "imgA-4", "prompt": "Line " + rand.Text()}
		lines = append(lines, map[string]any{"custom_id": fmt.Sprintf("line-%d", n+1), "endpoint": gateway.Images, "body": body})
	}
	batch := must(client.CreateBatch(ctx, gateway.NewBatch{Requests: &lines}))
	batch = must(client.WaitBatch(ctx, batch.ID))
	var results []string
	for result, err := range client.BatchResults(ctx, batch.ID) {
		one := must(result, err)
		results = append(results, fmt.Sprintf("%s %s %v", one.ID(), one.Status, one.Cost.Charged))
	}
	films := []any{map[string]any{"custom_id": "film", "endpoint": gateway.Videos, "body": map[string]any{"model": "vidA-2", "prompt": rand.Text()}}}
	cancelled := must(client.CreateBatch(ctx, gateway.NewBatch{Requests: &films}))
	must(client.CancelBatch(ctx, cancelled.ID))
	cancelled = must(client.WaitBatch(ctx, cancelled.ID))
	price := must(client.Estimate(ctx, gateway.VidCRequest{Model: "vidC-1-0-pro-fast", Prompt: "Northern lights", Duration: gateway.Ptr(8)}))

	// Whatever is lost, one submission makes one task.
	proxied := must(gateway.New(gateway.Options{BaseURL: proxy + "/v1/"}))
	survived := map[string]any{}
	var behind gateway.Task
	for _, name := range []string{"drop", "lost", "cut", "html", "page", "foreign"} {
		mine := rand.Text()
		fault(name, 2)
		behind = must(proxied.Generate(ctx, gateway.Images, gateway.ImageRequest{Model: "imgA-4", Prompt: mine, Reference: &mine}))
		keys := map[string]bool{}
		for _, line := range requests() {
			if method, rest, _ := strings.Cut(line, " "); method == "POST" {
				keys[rest] = true
			}
		}
		count := 0
		for task, err := range gateway.List[gateway.Task](ctx, client, "/v1/tasks", url.Values{"reference": {mine}}) {
			must(task, err)
			count++
		}
		survived[name] = []any{behind.Status, count, len(keys)}
	}
	listed := 0
	for task, err := range gateway.List[gateway.Task](ctx, client, "/v1/tasks", url.Values{"limit": {"2"}}) {
		must(task, err)
		if listed++; listed == 5 {
			break
		}
	}
	fault("cut", 2)
	file := must(proxied.Download(ctx, behind.Files()[0]))
	resumed := []any{int64(len(must(io.ReadAll(file)))) == file.Size, len(requests())}
	file.Close()
	fault("cut")
	_, cutChat := proxied.Chat(ctx, question)
	chats := len(requests())
	impatient := func(change func(*gateway.Options)) *gateway.Client {
		return proxied.With(func(options *gateway.Options) {
			options.MaxRetries = -1
			if change != nil {
				change(options)
			}
		})
	}
	quick := func(options *gateway.Options) { options.Timeout = 700 * time.Millisecond }
	// Every path of the gateway gets the key, and no other host.
	var balance gateway.Balance
	if err := client.Do(ctx, "GET", "/user/balance", nil, &balance); err != nil {
		log.Panic(err)
	}
	var keyed []string
	watched := must(gateway.New(gateway.Options{BaseURL: "https://gateway.example", APIKey: "sk-nothing", HTTPClient: &http.Client{
		Transport: roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Header.Get("Authorization") != "" {
				keyed = append(keyed, request.URL.String())
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
		}),
	}}))
	for _, path := range []string{"/v1/models", "/admin/audit", ".other.example/v1/x", "https://other.example/v1/x"} {
		if err := watched.Do(ctx, "GET", path, nil, nil); err != nil {
			log.Panic(err)
		}
	}
	if fmt.Sprint(keyed) != "[https://gateway.example/v1/models https://gateway.example/admin/audit]" {
		log.Panic(keyed)
	}
	// A chat whose connection was lost, or that a page of the platform's answers, may have been paid for.
	for _, name := range []string{"lost", "html", "failed"} {
		for _, ask := range []func() error{
			func() error { _, err := proxied.Chat(ctx, question); return err },
			func() error { return proxied.Do(ctx, "POST", "/v1/chat/completions", question, nil) },
		} {
			fault(name)
			if err := ask(); err == nil || len(requests()) != 1 {
				log.Panicf("a chat that was %s was asked for %d times: %v", name, len(requests()), err)
			}
		}
	}
	// What has no key of its own is done once too.
	mine := rand.Text()
	fault("lost")
	if err := proxied.Do(ctx, "POST", gateway.Images, gateway.ImageRequest{Model: "imgA-4", Prompt: mine, Reference: &mine}, nil); err != nil {
		log.Panic(err)
	}
	count := 0
	for task, err := range gateway.List[gateway.Task](ctx, client, "/v1/tasks", url.Values{"reference": {mine}}) {
		must(task, err)
		count++
	}
	if count != 1 {
		log.Panicf("made %d times", count)
	}
	fault("delay")
	slow := impatient(quick).Do(ctx, "GET", "/v1/models", nil, nil)
	fault("html", 9)
	gone := refusal(impatient(nil).Do(ctx, "GET", "/v1/models", nil, nil))

	fault("stall")
	var stalledChat error
	for _, err := range proxied.With(quick).ChatStream(ctx, question) {
		stalledChat = err
	}
	fault("stall")
	stalledFile := must(proxied.With(quick).Download(ctx, behind.Files()[0]))
	isStallResumed := int64(len(must(io.ReadAll(stalledFile)))) == stalledFile.Size
	fault("stall")
	stalledState := ""
	for task, err := range proxied.With(quick).Stream(ctx, behind.ID) {
		stalledState = string(must(task, err).Status)
	}
	fault("empty", 99)
	var silent error
	for _, err := range proxied.Stream(ctx, behind.ID) {
		silent = err
	}
	reconnections := len(requests())

	// A cancelled context ends a pause at once, and a download leaves the earlier file as it was.
	fault("drop", 99)
	ending, end := context.WithTimeout(ctx, 900*time.Millisecond)
	began := time.Now()
	stopped := proxied.Do(ending, "GET", "/v1/models", nil, nil)
	isAtOnce := time.Since(began) < 1500*time.Millisecond
	end()
	fault("drop", 0)
	if err := os.WriteFile("kept.png", []byte("earlier"), 0o600); err != nil {
		log.Panic(err)
	}
	saving, stop := context.WithCancel(ctx)
	// A file that stalls: a whole one may have arrived already.
	fault("stall")
	broken := must(proxied.Download(saving, behind.Files()[0]))
	stop()
	_, unsaved := broken.Save("kept.png")
	kept := must(os.ReadFile("kept.png"))
	_, part := os.Stat("kept.png.part")

	var samples struct {
		Secret, Body string
		Headers      map[string]string
		Answer, JWKS json.RawMessage
	}
	if err := json.Unmarshal(must(os.ReadFile("samples.json")), &samples); err != nil {
		log.Panic(err)
	}
	header := http.Header{}
	for name, value := range samples.Headers {
		header.Set(name, value)
	}
	callback := must(gateway.VerifyWebhook(samples.Secret, header, []byte(samples.Body)))
	_, forgedCallback := gateway.VerifyWebhook(samples.Secret, header, []byte(samples.Body+" "))
	forged := bytes.Replace(samples.Answer, []byte(`"charged":0.03`), []byte(`"charged":0`), 1)
	receipt := gateway.VerifyReceipt(samples.Answer, samples.JWKS)
	forgedReceipt := gateway.VerifyReceipt(forged, samples.JWKS)

	isNamed := make([]bool, len(names))
	for at, name := range names {
		isNamed[at] = strings.HasSuffix(name, ".png") && !strings.Contains(name, "/")
	}
	outcome := map[string]any{
		"image":          map[string]any{"status": made.Status, "charged": *made.Cost.Charged, "types": types},
		"names":          isNamed,
		"again":          again.ID == made.ID,
		"progress":       progress[len(progress)-1],
		"video":          size > 10_000,
		"refused":        map[string]any{"status": refused.Status, "code": refused.Code, "param": refused.Param, "params": params, "hasId": refused.RequestID != ""},
		"unauthorized":   stranger.Code,
		"failed":         failed.Code(),
		"chat":           []bool{len(text) > 0, len(*whole.Choices[0].Message.Content) > 0},
		"states":         []any{states[len(states)-1], len(states) > 1},
		"edited":         edited.Status,
		"batch":          results,
		"delivery":       []any{delivered.Delivery.Status, bytes.Equal(stored, own), undelivered.Task.Status},
		"redelivery":     []any{redelivered.Delivery.Status, closed, repeated, opened},
		"destination":    []any{destination.Bucket, destinations, removed.Code},
		"cancelled":      cancelled.Status,
		"uploads":        []any{input.Type, input.ExpiresAt - input.CreatedAt, files, isKept},
		"estimate":       []any{price.Kind, price.Price},
		"survived":       survived,
		"listed":         listed,
		"resumed":        resumed,
		"cutChat":        []any{isConnection(cutChat), chats},
		"slow":           isTimeout(slow),
		"gone":           []any{gone.Status, gone.Code == "", bytes.Contains(gone.Body, []byte("1101"))},
		"stalled":        []any{isTimeout(stalledChat), isStallResumed, stalledState},
		"silent":         []any{isConnection(silent), reconnections},
		"stopped":        []any{errors.Is(stopped, context.DeadlineExceeded), isAtOnce},
		"kept":           []any{errors.Is(unsaved, context.Canceled), string(kept) == "earlier" && errors.Is(part, os.ErrNotExist)},
		"callback":       callback.Type,
		"forgedCallback": forgedCallback != nil,
		"receipt":        receipt == nil,
		"forgedReceipt":  forgedReceipt != nil,
	}
	fmt.Println(string(must(json.Marshal(outcome))))
}
