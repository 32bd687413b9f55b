// Makes an image, waits until it exists and saves it: BASE_URL=... API_KEY=... go run image.go
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

type task struct {
	ID, Status string
	Error      struct{ Message string }
	Result     struct{ Images []struct{ URL []string } }
	Data       *task
}

func main() {
	made := ask("POST", "/v1/images/generations", `{"model": "imgA-4", "prompt": "A lighthouse in the fog"}`)
	for made.Status == "queued" || made.Status == "in_progress" {
		made = *ask("GET", "/v1/tasks/"+made.ID+"?wait=60", "").Data
	}
	if made.Status == "failed" {
		log.Fatal(made.Error.Message)
	}
	check(os.WriteFile("go.png", fetch("GET", made.Result.Images[0].URL[0], "", ""), 0o644))
}

func ask(method, path, body string) (answer task) {
	check(json.Unmarshal(fetch(method, os.Getenv("BASE_URL")+path, body, "Bearer "+os.Getenv("API_KEY")), &answer))
	return answer
}

func fetch(method, url, body, authorization string) []byte {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	check(err)
	request.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode != http.StatusOK {
		log.Fatalf("%s: %s", response.Status, content)
	}
	return content
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
