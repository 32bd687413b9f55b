/** A program with the client that openapi-generator makes: one submission, and its task when it is final. */

import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.GenerationsApi;
import org.openapitools.client.api.TasksApi;
import org.openapitools.client.model.ErrorAnswer;
import org.openapitools.client.model.ImageRequest;
import org.openapitools.client.model.Submission;
import org.openapitools.client.model.Task;
import org.springframework.web.client.RestClientResponseException;

class Use {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient().setBasePath(System.getenv("GATEWAY_URL"));
    client.setBearerToken(System.getenv("GATEWAY_KEY"));
    GenerationsApi generations = new GenerationsApi(client);
    ImageRequest request = new ImageRequest().model("imgA-4").prompt("A lighthouse");
    Submission submitted = (Submission) generations.createImage(request, null, null, null, null);
    Task task;
    do task = new TasksApi(client).getTask(submitted.getId(), 30, null).getData();
    while (!List.of("completed", "failed").contains(task.getStatus().getValue()));
    String code = "";
    try {
      generations.createImage(new ImageRequest().model("imgA-4"), null, null, null, null);
    } catch (RestClientResponseException error) {
      code = error.getResponseBodyAs(ErrorAnswer.class).getError().getCode();
    }
    System.out.println(task.getStatus() + " " + task.getCost().getCharged() + " " + code);
  }
}
