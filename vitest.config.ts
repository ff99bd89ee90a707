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

/** These mostly wait, for processes that start or for a database that keeps silent. */
const waiting =
  /test\/(commands\/(start|embedded|commands|keys|workers|backup|stalled-log)|cells\/(away|restore)|recovery\/(killed|keys-rotate|notices-killed|database-away|processes|late-commit)|webhooks\/isolation)/

/** These use a processor for longest. Begun last, one of them would run alone at the end. */
const long = /test\/(simulation\/|connectors\/.*conformance|browser\/|bank\/)/

/**
 * A file that waits beside files that work, so that the processors are busy all the time; long files before short ones.
 */
class Mixed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isWaiting = ({ moduleId }: TestSpecification) => waiting.test(moduleId)
    const isLong = ({ moduleId }: TestSpecification) => long.test(moduleId)
    const working = sorted.filter(file => !isWaiting(file))
    const longFirst = [...working.filter(isLong), ...working.filter(file => !isLong(file))]
    const mixed: TestSpecification[] = []
    for (const file of sorted.filter(isWaiting)) mixed.push(file, ...longFirst.splice(0, workingPerWaiting))
    return [...mixed, ...longFirst]
  }
}

/** 4: a file that waits takes about as long as four long ones. */
const workingPerWaiting = 4

export default defineConfig({
  test: {
    // Processes, not threads: a test may send itself signals, and native modules end with their process.
    pool: 'forks',
    // 4 for two cores: one or two of them usually have a file that waits. With 3 a twentieth of the time was idle.
    maxWorkers: 4,
    // One process runs many files: what they import is read once, which is a third of the whole time (measured).
    isolate: false,
    // Node reads the sources itself, as it does in production: less work than through Vite.
    experimental: { viteModuleRunner: false },
    // What a test leaves behind is soon garbage. The more of it is collected at once, the less survives and is copied.
    execArgv: ['--min-semi-space-size=64', '--max-semi-space-size=64'],
    sequence: { sequencer: Mixed },
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
