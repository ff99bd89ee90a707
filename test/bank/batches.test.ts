/** Batches with a real database: the contents of files, the stored rows, and crashes, which change neither. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { dayOf } from '#domain/time/calendar.ts'
import { targetDayAfter } from '#domain/time/target-calendar.ts'
import { giveOutAgain } from '#operations/bank/give-out.ts'
import { seedDebits } from '#test/support/bank/debits.ts'
import { type BankStage, openBankStage } from '#test/support/bank/stage.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { masterKeyOf, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let stage: BankStage
let gateway: TestGateway
let commands: CommandsHere
let accountId: string
beforeAll(async () => {
  stage = await openBankStage()
  ;({ gateway, commands, accountId } = stage)
})
afterAll(() => stage.close())

const seed = (count: number) =>
  seedDebits(gateway.gateway.engine, {
    databaseUrl: gateway.databaseUrl,
    merchantId: gateway.merchantId,
    accountId,
    count,
  })
const folder = (name: string) => join(commands.folder, name)

describe('bank batch', () => {
  test('writes all waiting payments into one file, once', async () => {
    await seed(3)
    // Not today, because the result would depend on the hour: the cut-off may have passed.
    const made = targetDayAfter(dayOf(new Date()), 2)
    const { files } = await commands.json(
      ...['bank', 'batch', '--account', accountId, '--date', made, '--out', folder('a')],
    )
    expect(files).toHaveLength(1)
    const [file] = files
    expect(file).toMatchObject({ type: 'pain.008.001.08', payments: 3, sum: 3006 })
    const text = readFileSync(file.path, 'utf8')
    expect(createHash('sha256').update(text).digest('hex')).toBe(file.sha256)
    expect(text).toContain(`<ReqdColltnDt>${targetDayAfter(made)}</ReqdColltnDt>`)
    expect(text).toContain('<CtrlSum>30.06</CtrlSum>')
    expect(text).toContain('<SeqTp>OOFF</SeqTp>')
    expect(text.match(/<EndToEndId>[0-9a-f]{32}<\/EndToEndId>/g)).toHaveLength(3)
    const again = await commands.json('bank', 'batch', '--account', accountId, '--out', folder('b'))
    expect(again).toEqual({ files: [] })
    const copies = await commands.json('bank', 'files', '--account', accountId, '--out', folder('c'))
    expect(copies.files[0].sha256).toBe(file.sha256)
    expect(readFileSync(copies.files[0].path, 'utf8')).toBe(text)
  })

  test('refuses a past day in live: no bank takes its files, and no other batch would hold their payments', async () => {
    const live = commandsHere(gateway.databaseUrl, {
      TOLLGATE_ENVIRONMENT: 'live',
      TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
      TOLLGATE_TRUSTED_PROXY: 'true',
      TOLLGATE_PUBLIC_URL: 'https://pay.example',
    })
    const batch = (day: string) =>
      live.run('bank', 'batch', '--account', accountId, '--date', day, '--out', folder('d'))
    expect(await batch('2025-11-20')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--date is 2025-11-20, but a batch cannot be made on a past day'),
    })
    live.remove()
  })

  test('writes a file again whole when several processes do so at once', async () => {
    const { bank } = gateway.gateway
    const account = await bank.account(accountId)
    const again = () => giveOutAgain(account, { batchId: undefined, folder: folder('at-once') }, bank)
    const [first, ...others] = await Promise.all([again(), again(), again()])
    expect(others).toEqual([first, first])
    expect(first).toHaveLength(1)
    for (const { path, sha256 } of first)
      expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(sha256)
  })

  test('has the name of a file on disk before the file counts as given', async () => {
    await mkdir(folder('on-disk'))
    const handle = await open(folder('on-disk'))
    const flushed: number[] = []
    const spy = vi.spyOn(Object.getPrototypeOf(handle), 'sync').mockImplementation(async function (
      this: FileHandle,
    ) {
      flushed.push((await this.stat()).ino)
    })
    await commands.json('bank', 'files', '--account', accountId, '--out', folder('on-disk'))
    spy.mockRestore()
    expect(flushed).toContain((await handle.stat()).ino)
    await handle.close()
  })

  test.runIf(process.platform === 'linux')(
    'makes no batch for a folder that cannot be made: ends with 1 and names it',
    async () => {
      await seed(1)
      const batch = (...words: string[]) => commands.run('bank', 'batch', '--account', accountId, ...words)
      expect(await batch('--out', '/proc/tollgate/out')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('/proc/tollgate/out cannot be written (ENOENT)'),
      })
      expect(await queryRows(gateway.databaseUrl, 'SELECT 1 FROM bank_batch')).toHaveLength(1)
      expect(await batch('--out', folder('after-proc'))).toMatchObject({ code: 0 })
      expect(await queryRows(gateway.databaseUrl, 'SELECT 1 FROM bank_batch')).toHaveLength(2)
    },
  )

  test('leaves no part of a file that cannot get its name, and gives the file out with the next run', async () => {
    await seed(1)
    const out = folder('taken')
    const { files } = await commands.json('bank', 'batch', '--account', accountId, '--out', out)
    const [{ path, batchId, sha256 }] = files
    rmSync(path)
    mkdirSync(path)
    const again = ['bank', 'files', '--account', accountId, '--batch', batchId, '--out', out]
    expect(await commands.run(...again)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/\.xml cannot be written \(E[A-Z]+\); name a folder with --out/),
    })
    expect(existsSync(`${path}.part`)).toBe(false)
    rmdirSync(path)
    expect((await commands.json(...again)).files).toMatchObject([{ path, sha256 }])
  })
})
