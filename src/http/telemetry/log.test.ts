import { describe, expect, test } from 'vitest'
import { batchLines, createLogger, keepAllowedFields } from '#http/telemetry/log.ts'

const pan = '4111111111111111'

function collect(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = []
  write(createLogger({ level: 'debug', out: { write: line => void lines.push(line) } }))
  return lines.join('')
}

describe('no card number survives', () => {
  test.each<[string, (logger: ReturnType<typeof createLogger>) => void]>([
    ['in the message', logger => logger.info(`paid with ${pan}`)],
    ['in a message argument', logger => logger.info('paid with %s', pan)],
    ['in an allowed field', logger => logger.info({ reason: `number ${pan}` }, 'x')],
    ['as a number', logger => logger.info({ count: Number(pan) }, 'x')],
    ['in a field that is not allowed', logger => logger.info({ body: { card: { number: pan } } }, 'x')],
    ['in headers', logger => logger.info({ headers: { cookie: pan } }, 'x')],
    ['in a child', logger => logger.child({ route: pan, body: pan }).info('x')],
    ['with spaces', logger => logger.info('4111 1111 1111 1111')],
    ['in an error', logger => logger.error(new Error(`bad ${pan}`))],
    [
      'in an error with a cause',
      logger => logger.error({ err: new Error('x', { cause: new Error(pan) }) }, 'y'),
    ],
    ['in a long text that is cut', logger => logger.info({ reason: `${'x'.repeat(1_990)}${pan}` }, 'x')],
  ])('%s', (_, write) => {
    const line = collect(write)
    expect(line).not.toBe('')
    expect(line).not.toMatch(/4111 ?1111 ?11/)
  })
})

test('named fields pass, others are left out, objects are never copied', () => {
  expect(
    keepAllowedFields({ traceId: 't', status: 200, body: 'b', url: '/x?y', merchantId: { a: 1 } }),
  ).toEqual({
    traceId: 't',
    status: 200,
  })
})

test('an error is told by name, message, code, stack and causes', () => {
  const err = Object.assign(new TypeError('broken', { cause: new Error('deeper') }), { code: 'E1' })
  expect(keepAllowedFields({ err })).toMatchObject({
    errName: 'TypeError',
    errMessage: 'broken',
    code: 'E1',
    stack: expect.stringContaining('TypeError: broken'),
    causes: 'Error: deeper',
  })
})

test("a line's own code is kept beside that of the error", () => {
  const err = Object.assign(new Error('invalid input'), { code: '22009' })
  expect(keepAllowedFields({ code: 'SETTLE_FAILED', err })).toMatchObject({
    code: 'SETTLE_FAILED',
    errCode: '22009',
  })
})

test('a line is JSON with the level as a word and the time as text', () => {
  const line = JSON.parse(collect(logger => logger.warn({ traceId: 'a'.repeat(32) }, 'hello'))) as Record<
    string,
    unknown
  >
  expect(line).toMatchObject({ level: 'warn', traceId: 'a'.repeat(32), msg: 'hello' })
  expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
  expect(line).not.toHaveProperty('pid')
})

test('lines are written together, but an error at once', () => {
  const written: string[] = []
  const batch = batchLines({ write: text => void written.push(text) })
  batch.write('{"level":"info"}\n')
  expect(written).toEqual([])
  batch.write('{"level":"error"}\n')
  expect(written).toEqual(['{"level":"info"}\n{"level":"error"}\n'])
  batch.write(`{"level":"info","msg":"${'x'.repeat(70_000)}"}\n`)
  expect(written).toHaveLength(2)
})

test('the address of a client is written as it is, though its digits could be a card number', () => {
  const address = '222.222.222.101'
  expect(collect(logger => logger.info({ address }, 'x'))).toContain(`"address":"${address}"`)
  expect(collect(logger => logger.info({ reason: `"address":"${address}"` }, 'x'))).not.toContain(address)
})
