/** Tests that take minutes: `npm run test:long`. They share the settings of the others and run one after the other. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 1,
    // 20 min: a bound for what hangs.
    testTimeout: 1_200_000,
    hookTimeout: 120_000,
    include: ['test/long/**/*.long.ts'],
    globalSetup: 'test/support/global-setup.ts',
  },
})
