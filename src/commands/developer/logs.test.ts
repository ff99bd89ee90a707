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
          return { data: path.startsWith('/operations') ? look?.operations : look?.events } as T
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
    { operations: [operation('b', at(1))], events: [event('e', 'DELIVERED', at(2))] },
  ])
  expect(lines.map(({ id }) => id)).toEqual(['e PENDING', 'a', 'b', 'e DELIVERED'])
  expect(asked.filter(path => path.startsWith('/operations')).at(-1)).toContain(encodeURIComponent(at(1)))
})

test('events from before the start are not printed, and a given count of lines ends the command', async () => {
  const old = event('old', 'FAILED', '2026-11-15T23:59:59.000Z')
  const { lines } = await follow(
    [{ operations: [operation('a', at(1)), operation('b', at(2))], events: [old] }],
    1,
  )
  expect(lines.map(({ id }) => id)).toEqual(['a'])
})
