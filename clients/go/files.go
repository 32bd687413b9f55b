package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
)

// Files is the path of files, for Do, List and Download: a file's bytes are at Files + "/" + its ID + "/content".
const Files = "/v1/files"

// Destinations is the path of buckets for deliveries, for Do and List.
const Destinations = "/v1/destinations"

// Upload stores a file; its ID stands in place of a URL in every body, and a batch takes one of JSON lines as InputFile.
func (c *Client) Upload(ctx context.Context, source io.Reader, options ...CallOption) (StoredFile, error) {
	var stored StoredFile
	// Whole, because a repeat sends it again.
	data, err := io.ReadAll(source)
	if err != nil {
		return stored, err
	}
	headers := map[string]string{"Content-Type": "application/octet-stream"}
	query := url.Values{}
	if given := toOptions(options); given.expiresIn > 0 {
		query.Set("expires_in", strconv.Itoa(int(given.expiresIn.Seconds())))
	}
	err = c.json(ctx, request{method: "POST", path: Files, query: query, body: data, headers: headers}, &stored)
	return stored, err
}

// Files are the links to the files of a completed task: images, a video with its thumbnail, a character's image, or whatever else.
func (t Task) Files() []string {
	if t.Result == nil {
		return nil
	}
	type file struct {
		URL       []string `json:"url"`
		Thumbnail string   `json:"thumbnail"`
	}
	var result struct {
		Images, Videos, Files []file
		Data                  json.RawMessage
	}
	if json.Unmarshal(t.Result.union, &result) != nil {
		return nil
	}
	var links []string
	for _, one := range append(append(result.Images, result.Videos...), result.Files...) {
		links = append(links, one.URL...)
		if one.Thumbnail != "" {
			links = append(links, one.Thumbnail)
		}
	}
	var made struct {
		Characters []struct {
			Image string `json:"profile_picture_url"`
		}
	}
	if json.Unmarshal(result.Data, &made) == nil {
		for _, character := range made.Characters {
			links = append(links, character.Image)
		}
	}
	return links
}

// Download is a file whose head has arrived. Read it and close it, or save it.
type Download struct {
	URL, Name, Type string
	// Bytes; -1 if the answer does not say.
	Size     int64
	client   *Client
	ctx      context.Context
	body     io.ReadCloser
	etag     string
	received int64
	cuts     int
}

// Download opens a file by its link. Links of tasks are valid for 24 hours.
func (c *Client) Download(ctx context.Context, link string) (*Download, error) {
	response, err := c.open(ctx, request{method: "GET", path: link})
	if err != nil {
		return nil, err
	}
	return &Download{
		URL:    link,
		Name:   fileName(link, response.Header),
		Type:   response.Header.Get("Content-Type"),
		Size:   response.ContentLength,
		client: c,
		ctx:    ctx,
		body:   response.Body,
		etag:   response.Header.Get("ETag"),
	}, nil
}

// Read reads the bytes as they arrive. A cut connection is continued where it ended.
func (d *Download) Read(part []byte) (int, error) {
	n, err := d.body.Read(part)
	d.received += int64(n)
	if n > 0 {
		d.cuts = 0
	}
	var cut *ConnectionError
	isShort := err == io.EOF && d.Size >= 0 && d.received < d.Size
	if !isShort && !errors.As(err, &cut) {
		return n, err
	}
	if d.cuts++; d.cuts > 3 {
		return n, &ConnectionError{Err: errors.New("the file was cut"), HasBegun: true}
	}
	d.body.Close()
	headers := map[string]string{"Range": fmt.Sprintf("bytes=%d-", d.received)}
	if d.etag != "" {
		headers["If-Range"] = d.etag
	}
	response, err := d.client.open(d.ctx, request{method: "GET", path: d.URL, headers: headers})
	if err != nil {
		return n, err
	}
	d.body = response.Body
	// Another file by now: the parts do not belong together.
	if response.StatusCode != http.StatusPartialContent {
		return n, &ConnectionError{Err: errors.New("the file was cut, and has changed"), HasBegun: true}
	}
	return n, nil
}

// Close ends the request.
func (d *Download) Close() error { return d.body.Close() }

// Save writes the file to the disk, and closes it: until it is whole, as `{name}.part`. Without a name it is its own, in the current folder.
// Returns the name.
func (d *Download) Save(name string) (string, error) {
	defer d.Close()
	if name == "" {
		name = d.Name
	}
	partial := name + ".part"
	file, err := os.Create(partial)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, d)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(partial, name)
	}
	if err != nil {
		os.Remove(partial)
		return "", err
	}
	return name, nil
}

// fileName never leads to another folder.
func fileName(link string, header http.Header) string {
	name := ""
	if _, parameters, err := mime.ParseMediaType(header.Get("Content-Disposition")); err == nil {
		name = parameters["filename"]
	}
	if parsed, err := url.Parse(link); name == "" && err == nil {
		name = parsed.Path
	}
	if name = path.Base(strings.ReplaceAll(name, "\\", "/")); name == "." || name == "/" || name == ".." {
		return "file"
	}
	return name
}
