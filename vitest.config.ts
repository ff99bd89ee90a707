/** Two kinds of tests: pure ones beside the source, and those in test/, which share one PostgreSQL for the whole run. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { makeTemporaryFolder } from './test/support/database/temporary-folder.ts'

// What outlives a run stays on the disk.
const compileCache = join(tmpdir(), 'tollgate-compile-cache')
process.env.TMPDIR = makeTemporaryFolder()
// Workers, and what tests start, read their sources compiled and without types.
process.env.NODE_COMPILE_CACHE = compileCache

/** These take longest, mostly waiting for processes. Begun last, one of them would run alone at the end. */
const slow =
  /test\/(commands\/(start|embedded|commands|keys|workers|backup)|recovery\/(killed|keys-rotate)|simulation\/|connectors\/.*conformance|browser\/)/

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isSlow = ({ moduleId }: TestSpecification) => slow.test(moduleId)
    return [...sorted.filter(isSlow), ...sorted.filter(file => !isSlow(file))]
  }
}

export default defineConfig({
  test: {
    // Processes, not threads: a test may send itself signals, and native modules end with their process.
    pool: 'forks',
    // 3 for two cores: many tests wait for processes that start and stop, and somebody should work meanwhile.
    maxWorkers: 3,
    // One process runs many files: what they import is read once, which is a third of the whole time (measured).
    isolate: false,
    // Node reads the sources itself, as it does in production: less work than through Vite.
    experimental: { viteModuleRunner: false },
    // What a test leaves behind is soon garbage. The more of it is collected at once, the less survives and is copied.
    execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=64'],
    sequence: { sequencer: SlowFirst },
    // 2 min: a bound for what hangs, far above any test that waits for real processes on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What a test waits for comes within milliseconds; 30 s: a bound for what never comes, on a busy machine too.
    expect: { poll: { timeout: 30_000, interval: 20 } },
    provide: { isLongRun: false },
    projects: [
      { extends: true, test: { name: 'pure', include: ['src/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'database',
          include: ['test/**/*.test.ts'],
          globalSetup: 'test/support/global-setup.ts',
        },
      },
    ],
  },
})
