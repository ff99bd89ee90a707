/**
 * A list that may become long, kept compressed: a statement of hundreds of megabytes may hold nothing but entries that fit
 * nothing of ours, and all of them are to be listed.
 */
import { gunzipSync, gzipSync } from 'node:zlib'

export interface PackedList<T> {
  readonly length: number
  push(item: T): void
  /** A few thousand at a time, in the order in which they came. */
  pages(): Generator<readonly T[]>
}

/** 1 MiB of text: what one moment holds unpacked. */
const pageCharacters = 1 << 20

export function createPackedList<T>(): PackedList<T> {
  const packed: Buffer[] = []
  let texts: string[] = []
  let characters = 0
  let length = 0
  const read = (text: string): readonly T[] => JSON.parse(`[${text}]`)
  return {
    get length() {
      return length
    },
    push(item) {
      const text = JSON.stringify(item)
      texts.push(text)
      characters += text.length
      length += 1
      if (characters < pageCharacters) return
      packed.push(gzipSync(texts.join(','), { level: 1 }))
      texts = []
      characters = 0
    },
    *pages() {
      for (const page of packed) yield read(gunzipSync(page).toString())
      if (texts.length > 0) yield read(texts.join(','))
    },
  }
}
