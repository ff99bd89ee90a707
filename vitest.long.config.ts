/** Tests that take minutes: `npm run test:long`. They share the settings of the others and run one after the other. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 1,
    // 40 min: a bound for what hangs.
    testTimeout: 2_400_000,
    hookTimeout: 120_000,
    // Besides what is long in any case: the whole of what `npm test` runs a short version of.
    include: [
      'test/long/**/*.long.ts',
      'test/simulation/**/*.test.ts',
      'test/webhooks/chaos.test.ts',
      'test/races/lifecycle.test.ts',
      'test/races/meetings*.test.ts',
      'test/api/customers/customers-list.test.ts',
      'test/api/payments/every-method.test.ts',
      'src/domain/time/calendar.test.ts',
    ],
    provide: { isLongRun: true },
    globalSetup: 'test/support/global-setup.ts',
  },
})
