/** openai-java and LangChain4j, unchanged: answers, streams, tools, structured output, images, videos, errors. Fails with an exception. */

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.errors.BadRequestException;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.images.ImageGenerateParams;
import com.openai.models.responses.ResponseCreateParams;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiImageModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.service.AiServices;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

public class Use {
  static final String BASE = System.getenv("OPENAI_BASE");
  static final String KEY = System.getenv("API_KEY");

  static void check(boolean isRight, Object found) {
    if (!isRight) throw new AssertionError(String.valueOf(found));
  }

  public static void main(String[] names) throws Exception {
    for (String name : names) {
      if (name.equals("openai-java")) openai();
      else langchain();
    }
    // Threads of the clients' connections would keep the program for a minute.
    System.exit(0);
  }

  static void openai() {
    OpenAIClient client = OpenAIOkHttpClient.builder().baseUrl(BASE).apiKey(KEY).maxRetries(0).build();
    var hello = ChatCompletionCreateParams.builder().model("gpt-4o").addUserMessage("Good morning").build();
    var whole = client.chat().completions().create(hello);
    String text = whole.choices().get(0).message().content().orElse("");
    check(text.contains("Good morning") && whole.usage().isPresent(), whole);
    try (var stream = client.chat().completions().createStreaming(hello)) {
      String streamed = stream.stream().flatMap(chunk -> chunk.choices().stream())
          .flatMap(choice -> choice.delta().content().stream()).collect(Collectors.joining());
      check(streamed.equals(text), streamed);
    }
    var city = Map.of("city", Map.of("type", "string"));
    var parameters = FunctionParameters.builder().putAdditionalProperty("type", JsonValue.from("object"))
        .putAdditionalProperty("properties", JsonValue.from(city))
        .putAdditionalProperty("required", JsonValue.from(List.of("city"))).build();
    var weather = FunctionDefinition.builder().name("get_weather").parameters(parameters).build();
    var asked = client.chat().completions().create(ChatCompletionCreateParams.builder().model("gpt-4o")
        .addFunctionTool(weather).addUserMessage("What does get_weather say?").build());
    var call = asked.choices().get(0).message().toolCalls().orElseThrow().get(0).asFunction();
    check(call.function().name().equals("get_weather"), asked);

    var request = ResponseCreateParams.builder().model("gpt-5").input("Good evening").build();
    var response = client.responses().create(request);
    String said = response.output().stream().flatMap(item -> item.message().stream()).flatMap(message -> message.content().stream())
        .flatMap(content -> content.outputText().stream()).map(output -> output.text()).collect(Collectors.joining());
    check(said.contains("Good evening"), response);
    try (var stream = client.responses().createStreaming(request)) {
      check(stream.stream().anyMatch(event -> event.isCompleted()), "no end");
    }
    var image = client.images().generate(ImageGenerateParams.builder().model("gpt-image-1").prompt("A hare").build());
    check(image.data().orElseThrow().get(0).b64Json().isPresent(), image);
    check(client.models().list().data().size() > 0, "no models");
    try {
      client.chat().completions().create(hello.toBuilder().addUserMessage("sandbox:reject").build());
      throw new AssertionError("answered");
    } catch (BadRequestException expected) {
      check(expected.statusCode() == 400, expected);
    }
  }

  static class Weather {
    int calls;

    @Tool("The weather of a city")
    String getWeather(String city) {
      calls++;
      return "sunny";
    }
  }

  record Person(String name, int age) {}

  interface Assistant {
    String answer(String question);
  }

  interface Reader {
    Person read(String question);
  }

  static void langchain() throws Exception {
    var model = OpenAiChatModel.builder().baseUrl(BASE).apiKey(KEY).modelName("gpt-4o").maxRetries(0)
        .supportedCapabilities(dev.langchain4j.model.chat.Capability.RESPONSE_FORMAT_JSON_SCHEMA).strictJsonSchema(true).build();
    String text = model.chat("Good morning");
    check(text.contains("Good morning"), text);
    var done = new CompletableFuture<ChatResponse>();
    var streaming = OpenAiStreamingChatModel.builder().baseUrl(BASE).apiKey(KEY).modelName("gpt-4o").build();
    streaming.chat(List.of(UserMessage.from("Good morning")), new StreamingChatResponseHandler() {
      @Override public void onPartialResponse(String part) {}
      @Override public void onCompleteResponse(ChatResponse response) { done.complete(response); }
      @Override public void onError(Throwable error) { done.completeExceptionally(error); }
    });
    var streamed = done.get(60, TimeUnit.SECONDS);
    check(streamed.aiMessage().text().equals(text) && streamed.tokenUsage().totalTokenCount() > 0, streamed);
    var weather = new Weather();
    var assistant = AiServices.builder(Assistant.class).chatModel(model).tools(weather)
        .chatMemory(MessageWindowChatMemory.withMaxMessages(10)).build();
    String answer = assistant.answer("What does getWeather say?");
    check(answer.contains("sunny") && weather.calls == 1, answer);
    var person = AiServices.create(Reader.class, model).read("Who?");
    check(person.name() != null, person);
    var images = OpenAiImageModel.builder().baseUrl(BASE).apiKey(KEY).modelName("dall-e-3").build();
    check(images.generate("A hare").content().url() != null, "no image");
    try {
      model.chat("sandbox:reject");
      throw new AssertionError("answered");
    } catch (InvalidRequestException expected) {
      check(true, expected);
    }
  }
}
