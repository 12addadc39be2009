/** Reports why a test had to be repeated: one that passes at its second attempt shows something too. */
import type { Reporter, TestCase } from 'vitest/node';

export const repeatedTests: Reporter = {
  onTestCaseResult(test: TestCase) {
    const errors = test.result().errors ?? [];
    if ((test.diagnostic()?.retryCount ?? 0) === 0 || errors.length === 0) return;
    const [first] = errors;
    process.stdout.write(`repeated: ${test.fullName}\n${first?.stack ?? first?.message ?? 'no error'}\n`);
  },
};
