/** A file for the bank on its way into the database: compressed and sealed part by part, with the hash of all its bytes. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { FileHeader } from '#connectors/bank/initiation.ts'
import type { Bank } from '#operations/bank/bank.ts'
import { createFollower } from '#operations/bank/read-ahead.ts'
import type { WriteTarget } from '#operations/bank/written-payments.ts'
import type { BankFileRecord } from '#storage/bank/bank-files.ts'

const compress = promisify(gzip)
const expand = promisify<Buffer, Buffer>(gunzip)

/** 1 MiB of text: some hundred kilobytes in the database, and what one moment holds in memory. */
const partCharacters = 1 << 20

export async function storeFile(
  file: { readonly type: string; readonly header: FileHeader; readonly pieces: AsyncIterable<string> },
  { merchantId, transaction, bank }: WriteTarget,
): Promise<void> {
  const { type, header } = file
  const hash = createHash('sha256')
  let position = 0
  let waiting: string[] = []
  let length = 0
  const storing = createFollower()
  const store = async (bytes: Buffer): Promise<void> => {
    const partId = bank.engine.newId()
    // Level 1: the text is full of repetition, and speed counts for more here than the last tenth of its size.
    const packed = await compress(bytes, { level: 1 })
    const sealed = await bank.records.seal('bank file', merchantId, partId, packed)
    await transaction.addFilePart({ partId, type, position: position++, ...sealed })
  }
  const flush = (): Promise<void> => {
    const bytes = Buffer.from(waiting.join(''))
    waiting = []
    length = 0
    hash.update(bytes)
    return storing.follow(() => store(bytes))
  }
  for await (const piece of file.pieces) {
    waiting.push(piece)
    length += piece.length
    if (length >= partCharacters) await flush()
  }
  await flush()
  await storing.finish()
  await transaction.addFile({
    type,
    messageId: header.messageId,
    payments: header.blocks.reduce((total, { payments }) => total + payments, 0),
    sum: header.blocks.reduce((total, { sum }) => total + sum, 0n),
    sha256: hash.digest('hex'),
  })
}

/** The stored bytes again, part by part. */
export async function* readStoredFile(file: BankFileRecord, bank: Bank): AsyncGenerator<Buffer> {
  for (let position = 0; ; position++) {
    const part = await bank.files.part(file, position)
    if (!part) return
    const { partId: recordId, keyVersion, sealed } = part
    const packed = await bank.records.open('bank file', file.merchantId, { recordId, keyVersion, sealed })
    yield await expand(packed)
  }
}
