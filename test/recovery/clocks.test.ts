/** A difference between the clocks of process and database is reported; a test's or a merchant's clock is not. */
import { rmSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { makeEmptyFolder, tollgateHere } from '#test/support/command-line.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

afterEach(() => void vi.restoreAllMocks())

/** A process clock this far ahead of the machine's clock, which the database uses. */
function setClockAhead(milliseconds: number): void {
  vi.restoreAllMocks()
  const readClock = Date.now
  vi.spyOn(Date, 'now').mockImplementation(() => readClock() + milliseconds)
}

const listClockLines = ({ logged }: TestGateway): readonly { level: string; msg: string }[] =>
  logged.map(line => JSON.parse(line)).filter(({ component }) => component === 'clock')

async function readDifference({ url }: TestGateway): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return Number(/^tollgate_clock_difference_seconds (\S+)$/m.exec(metrics)?.[1])
}

test("a clock that differs from the database's is reported at the start and in the metrics, and again when it is right", async () => {
  setClockAhead(60_000)
  const gateway = await startTestGateway()
  try {
    expect(listClockLines(gateway)).toEqual([
      expect.objectContaining({
        level: 'warn',
        msg: expect.stringMatching(/^the clock of this process is \d\d\.\d s ahead of that of the database/),
      }),
    ])
    expect(await readDifference(gateway)).toBeGreaterThan(5)
    setClockAhead(0)
    await vi.waitFor(() => expect(listClockLines(gateway)).toHaveLength(2), 30_000)
    expect(listClockLines(gateway)[1]).toMatchObject({ msg: expect.stringContaining('agree again') })
    expect(await readDifference(gateway)).toBeLessThan(5)
  } finally {
    await gateway.stop()
  }
})

test('a gateway with an injected clock, whose merchant has moved their test clock, reports nothing', async () => {
  const gateway = await startTestGateway({ clock: createTestClock() })
  try {
    expect((await gateway.call('POST', '/test/clock', { advance: 'P3D' })).status).toBe(200)
    expect(await readDifference(gateway)).toBeLessThan(5)
    expect(listClockLines(gateway)).toEqual([])
  } finally {
    await gateway.stop()
  }
})

test('doctor warns of clocks that differ, and finds no fault in the data', async () => {
  const gateway = await startTestGateway()
  const folder = makeEmptyFolder()
  const diagnose = () =>
    tollgateHere(['doctor', '--json'], {
      DATABASE_URL: gateway.databaseUrl,
      TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
      TOLLGATE_DATA: folder,
    })
  try {
    expect(await diagnose()).toMatchObject({ code: 0, stderr: expect.not.stringContaining('clock') })
    setClockAhead(-60_000)
    expect(await diagnose()).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /^warning: the clock of this machine is \d\d\.\d s behind that of the database/m,
      ),
    })
  } finally {
    await gateway.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
