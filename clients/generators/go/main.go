// A program with the client that oapi-codegen generates: one submission, and its stream of events.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"example.com/use/gateway"
)

func main() {
	ctx := context.Background()
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("GATEWAY_KEY"))
		return nil
	}
	client, err := gateway.NewClientWithResponses(os.Getenv("GATEWAY_URL"), gateway.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	answer, err := client.CreateImageWithResponse(ctx, nil, gateway.ImageRequest{Model: "imgA-4", Prompt: "A lighthouse"})
	if err != nil || answer.JSON200 == nil {
		log.Fatal(err, answer.Status())
	}
	submitted, err := answer.JSON200.AsSubmission()
	if err != nil {
		log.Fatal(err)
	}
	stream, err := client.StreamTask(ctx, submitted.ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Body.Close()
	var task gateway.Task
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
		if data, isData := strings.CutPrefix(lines.Text(), "data: "); isData {
			if err := json.Unmarshal([]byte(data), &task); err != nil {
				log.Fatal(err)
			}
		}
	}
	wrong, err := client.CreateImageWithResponse(ctx, nil, gateway.ImageRequest{Model: "imgA-4"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.Status, *task.Cost.Charged, wrong.JSON400.Error.Code)
}
