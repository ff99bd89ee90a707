import { expect, test } from 'vitest'
import { type RestAfterCapture, readRest } from '#methods/rest-after-capture.ts'

test.each<[Parameters<typeof readRest>[0], RestAfterCapture]>([
  [undefined, 'open'],
  [{}, 'open'],
  [{ card: {} }, 'open'],
  [{ card: { finishAuth: false } }, 'open'],
  [{ card: { finishAuth: true } }, 'closed'],
  [{ providerM: { finishAuth: 'N' } }, 'open'],
  [{ providerM: { finishAuth: 'Y' } }, 'closed'],
  [{ providerP: { completeType: false } }, 'open'],
  [{ providerP: { completeType: true } }, 'closed'],
  [{ providerK: {} }, 'open'],
  [{ providerK: { completeType: 'YES' } }, 'reversed'],
])('%j leaves the rest %s', (sent, rest) => expect(readRest(sent)).toBe(rest))
