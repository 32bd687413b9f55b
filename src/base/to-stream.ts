/** A stream of a generator's values, which are made only as fast as they are read. A reader that cancels ends the generator. */
export const toStream = <T>(values: Generator<T, void> | AsyncGenerator<T, void>): ReadableStream<T> =>
  new ReadableStream<T>(
    {
      async pull(controller) {
        const { done, value } = await values.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await values.return();
      },
    },
    { highWaterMark: 0 },
  );
