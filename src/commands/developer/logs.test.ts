/** Following what happens: nothing is left out, nothing is told twice. */
import { expect, test } from 'vitest'
import { type LogLine, tailLogs } from '#commands/developer/logs.ts'

const operation = (xId: string, settledDate: string) => ({
  ...{ xId, settledDate, payId: 'p', transId: 't', type: 'CAPTURE', status: 'OK', responseCode: '00000000' },
  amount: { value: 1000, currency: 'EUR' },
})

const event = (id: string, status: string, creationDate: string) => ({
  ...{ id, status, creationDate, payId: 'p' },
  body: { type: 'payment.captured' },
})

/** As the API numbers them: the newest first, 20 on a page. */
const pageOf = (events: Look['events'] = [], path: string) => {
  const end = Number(new URLSearchParams(path.split('?')[1]).get('page')) * 20
  return { data: events.slice(end - 20, end), totalNumberOfPages: Math.ceil(events.length / 20) }
}

interface Look {
  readonly operations: readonly ReturnType<typeof operation>[]
  readonly events: readonly ReturnType<typeof event>[]
}

async function follow(looks: readonly Look[], count?: number) {
  const lines: LogLine[] = []
  const asked: string[] = []
  let turn = 0
  await tailLogs(
    { from: '2026-11-16T00:00:00.000Z', ...(count === undefined ? {} : { count }) },
    {
      client: {
        async get<T>(path: string): Promise<T> {
          asked.push(path)
          const look = looks[turn]
          return (
            path.startsWith('/operations') ? { data: look?.operations } : pageOf(look?.events, path)
          ) as T
        },
      },
      say: line => lines.push(line),
      isEnding: () => turn >= looks.length,
      pause: async () => {
        turn += 1
      },
    },
  )
  return { lines, asked }
}

const at = (second: number) => `2026-11-16T00:00:0${second}.000Z`

test('operations and events are printed once, in the order of time, and an event again when it has changed', async () => {
  const { lines, asked } = await follow([
    { operations: [operation('a', at(1))], events: [event('e', 'PENDING', at(0))] },
    { operations: [operation('a', at(1)), operation('b', at(1))], events: [event('e', 'PENDING', at(0))] },
    { operations: [operation('b', at(1))], events: [event('e', 'DELIVERED', at(0))] },
  ])
  expect(lines.map(({ id }) => id)).toEqual(['e PENDING', 'a', 'b', 'e DELIVERED'])
  expect(asked.filter(path => path.startsWith('/operations')).at(-1)).toContain(encodeURIComponent(at(1)))
})

test('more events than a page holds are all printed, the oldest first', async () => {
  const burst = Array.from({ length: 45 }, (_, index) => event(`e${index}`, 'FAILED', at(1))).reverse()
  const { lines } = await follow([{ operations: [], events: burst }])
  expect(lines.map(({ id }) => id)).toEqual(burst.map(({ id }) => `${id} FAILED`).reverse())
})

test('events from before the start are not printed, and a given count of lines ends the command', async () => {
  const old = event('old', 'FAILED', '2026-11-15T23:59:59.000Z')
  const { lines } = await follow(
    [{ operations: [operation('a', at(1)), operation('b', at(2))], events: [old] }],
    1,
  )
  expect(lines.map(({ id }) => id)).toEqual(['a'])
})
