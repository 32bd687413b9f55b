/** Ends a run of tests in which every file has ended and the run has not: a reporter. */

import type { Reporter, TestModule, TestSpecification, Vitest } from "vitest/node";

/** How long a runtime may take to end after the last file: three times as long as Vitest itself waits for one to close. */
const patienceMs = 30_000;

/**
 * Now and then a local Workers runtime never says that its last file is over, although that file's results have arrived, and Vitest waits
 * for it without a limit (seen with vitest 5.1.1, in about every other whole run). The results are complete then: this prints
 * what failed and ends the process with the status that they give.
 */
export class EndOfRun implements Reporter {
  #vitest: Vitest | undefined;
  #open = new Set<string>();
  #failed: TestModule[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #exit: (status: number) => void;

  constructor(exit: (status: number) => void = (status) => process.exit(status)) {
    this.#exit = exit;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly Pick<TestSpecification, "moduleId" | "project">[]): void {
    this.#open = new Set(specifications.map(({ moduleId, project }) => `${project.name} ${moduleId}`));
    this.#failed = [];
  }

  onTestModuleEnd(module: TestModule): void {
    this.#open.delete(`${module.project.name} ${module.moduleId}`);
    if (!module.ok()) this.#failed.push(module);
    if (this.#open.size === 0) this.#timer = setTimeout(() => this.#end(), patienceMs);
  }

  onTestRunEnd(): void {
    clearTimeout(this.#timer);
  }

  #end(): void {
    console.error(`Every file has ended, and the run has not after ${patienceMs / 1000} s: a runtime did not answer.`);
    for (const module of this.#failed) {
      for (const { message, stack } of module.errors()) console.error(`FAIL ${module.relativeModuleId}\n${stack ?? message}`);
      for (const test of module.children.allTests("failed"))
        for (const { message, stack } of test.result().errors ?? [])
          console.error(`FAIL ${module.relativeModuleId} > ${test.fullName}\n${stack ?? message}`);
    }
    const unhandled = this.#vitest?.state.getUnhandledErrors() ?? [];
    for (const error of unhandled) console.error(error);
    this.#exit(this.#failed.length > 0 || unhandled.length > 0 ? 1 : 0);
  }
}
