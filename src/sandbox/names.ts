/** The names of characters: an adjective and an animal, `Amber Fox`, with a number in the username. */

const ADJECTIVES =
  "amber bold brave bright calm clever coral crisp daring eager fancy gentle golden happy humble ivory jolly keen kind lively lucky mellow merry misty noble proud quick quiet rosy silver sunny swift".split(
    " ",
  );
const ANIMALS =
  "badger beaver bison crane dolphin eagle falcon finch fox gecko hare hawk heron ibis jay koala lark lemur lynx marten moose otter owl panda puffin raven robin seal sparrow stork tiger wolf".split(
    " ",
  );

/** The name of the character that an operation makes; always the same for the same id (`op_` and hexadecimal digits). */
export function makeName(id: string): { username: string; display_name: string } {
  const digits = (from: number, length: number) => parseInt(id.slice(3 + from, 3 + from + length), 16);
  const adjective = ADJECTIVES[digits(0, 4) % ADJECTIVES.length] ?? "amber";
  const animal = ANIMALS[digits(4, 4) % ANIMALS.length] ?? "fox";
  return { username: `${adjective}.${animal}${(digits(8, 8) % 9000) + 1000}`, display_name: `${capital(adjective)} ${capital(animal)}` };
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
