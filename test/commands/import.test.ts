/** Reference data from files, as the command line imports it: all or nothing, with every fault named by its line. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tollgateHere } from '#test/support/command-line.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let gateway: TestGateway
let folder: string
beforeAll(async () => {
  gateway = await startTestGateway()
  folder = mkdtempSync(join(tmpdir(), 'tollgate-import-'))
})
afterAll(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
})

function run(kind: 'bins' | 'rates', content: string | Buffer, ...more: string[]) {
  const file = join(folder, `${kind}.txt`)
  writeFileSync(file, content)
  return tollgateHere([kind, 'import', file, ...more], {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA: folder,
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  })
}

const look = async (bin: string) => (await gateway.call('POST', '/services/binLookup', { bin })).body.brand

const heading = 'first,last,brand,coBrands,product,source,issuer,country,currency,dccEligible\n'

describe('bins import', () => {
  test('puts a list in place while the server runs, and says how many', async () => {
    const first = await run('bins', `${heading}900000,900999,first,,,,,,,\n`)
    expect(first).toMatchObject({ code: 0, stdout: '1 ranges are in force.\n' })
    expect(await look('900500')).toBe('first')
    const second = await run('bins', `bin,scheme\r\n\r\n901000,second\r\n90100012,exact\r\n`, '--json')
    expect(second).toMatchObject({ code: 0, stdout: '{"ranges":2}\n' })
    expect(await Promise.all(['900500', '901000', '90100012'].map(look))).toEqual([
      undefined,
      'second',
      'exact',
    ])
  })

  test('tells how far it is, range by range and byte by byte', async () => {
    const lines = Array.from({ length: 12_000 }, (_, index) => `${30_000_000 + index},many`)
    const { code, stderr } = await run('bins', `bin,brand\n${lines.join('\n')}`)
    expect(code).toBe(0)
    expect(stderr).toMatch(/\n5000 ranges, \d+ %\n10000 ranges, \d+ %\n12000 ranges, 100 %\n$/)
    expect(await look('30011999')).toBe('many')
  })

  test.each([
    ['nothing', '', 'holds no ranges'],
    ['a heading alone', heading, 'holds no ranges'],
    ['no heading', '900000,visa\n', 'line 1: the first line must name the columns'],
    [
      'a broken line after good ones',
      `bin,brand\n902000,good\n\n9020,bad\n`,
      'line 4: the range begins with "9020"',
    ],
    ['a range that stands twice', 'bin,brand\n902000,a\n902001,b\n902000,c\n', 'the same range stands twice'],
    ['bytes', Buffer.from([0, 1, 2, 255, 254]), 'line 1: the first line must name the columns'],
  ])('%s changes nothing', async (_, content, sentence) => {
    await run('bins', 'bin,brand\n903000,kept\n')
    const { code, stdout, stderr } = await run('bins', content)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(sentence)
    expect(await Promise.all(['903000', '902000'].map(look))).toEqual(['kept', undefined])
  })
})

describe('rates import', () => {
  const quote = async () => {
    const body = { bin: '411111', amount: { value: 10_000, currency: 'EUR' } }
    return (await gateway.call('POST', '/services/dccQuote', body)).body
  }

  test('puts a day in place while the server runs', async () => {
    expect(await quote()).toMatchObject({ rateSource: 'SIMULATOR' })
    const day = `<Cube><Cube time='2026-11-13'><Cube currency='GBP' rate='0.9'/></Cube></Cube>`
    expect(await run('rates', day)).toMatchObject({
      code: 0,
      stdout: '1 rates of 2026-11-13 are in force.\n',
    })
    expect(await quote()).toMatchObject({ rateSource: 'ECB', exchangeRate: '0.927000' })
    const next = await run('rates', 'Date, GBP\n14 November 2026, 0.8\n', '--json')
    expect(next).toMatchObject({ code: 0, stdout: '{"date":"2026-11-14","rates":1}\n' })
    expect(await quote()).toMatchObject({ exchangeRate: '0.824000' })
  })

  test.each([
    ['nothing', '', 'neither XML nor a table'],
    [
      'a broken rate',
      'Date, GBP\n15 November 2026, -1\n',
      'the rate of GBP on 2026-11-15 is "-1", not a number above zero',
    ],
  ])('%s changes nothing', async (_, content, sentence) => {
    await run('rates', 'Date, GBP\n14 November 2026, 0.7\n')
    const { code, stdout, stderr } = await run('rates', content)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(sentence)
    expect(await quote()).toMatchObject({ exchangeRate: '0.721000' })
  })
})

test.each([
  [['bins', 'import', 'missing.csv'], 1, 'missing.csv cannot be read'],
  [['rates', 'import', '.'], 1, '. is not a file'],
  [['bins', 'import'], 2, "missing required argument 'file'"],
])('%j ends with a sentence', async (words, code, sentence) => {
  const ended = await tollgateHere(words, { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA: folder })
  expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(sentence) })
})
