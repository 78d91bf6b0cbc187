import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** Prints one line at the end that says what was skipped, and how to run it. */
export class NameSkipped implements Reporter {
  #isFiltered = false;

  onInit(vitest: Vitest): void {
    this.#isFiltered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    // With -t, most tests are skipped because they were not asked for.
    if (this.#isFiltered) return;
    const skipped = modules
      .map((module) => ({ file: module.relativeModuleId, count: [...module.children.allTests('skipped')].length }))
      .filter(({ count }) => count > 0);
    if (skipped.length === 0) return;
    const total = skipped.reduce((sum, { count }) => sum + count, 0);
    const files = skipped.map(({ file, count }) => `${file} (${count})`).join(', ');
    console.log(`\nSkipped, because a program is missing: ${total} tests in ${files}. To run them: npm run ci:setup`);
  }
}
