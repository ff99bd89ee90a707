import { expect, test } from 'vitest'
import { boundaryOf, readMultipart } from '#http/body/form.ts'

const boundary = '----WebKitFormBoundaryAbc'
const part = (disposition: string, content: string, type?: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${type ? `Content-Type: ${type}\r\n` : ''}\r\n${content}\r\n`
const body = (...parts: readonly string[]) => Buffer.from(`${parts.join('')}--${boundary}--\r\n`)

/** The bytes that a current browser sends. */
test('a form with fields and files is read', async () => {
  const form = new FormData()
  form.set('text', 'Grüße\r\nzwei Zeilen')
  form.append(
    'files',
    new File([new Uint8Array([0, 13, 10, 45, 45, 255])], 'a "b".pdf', { type: 'application/pdf' }),
  )
  const sent = new Response(form)
  const found = boundaryOf(sent.headers.get('content-type') ?? '')
  const read = readMultipart(Buffer.from(await sent.arrayBuffer()), found ?? '')
  expect(read).toEqual({
    form: { text: 'Grüße\r\nzwei Zeilen' },
    files: [
      {
        field: 'files',
        name: 'a "b".pdf',
        type: 'application/pdf',
        bytes: Buffer.from([0, 13, 10, 45, 45, 255]),
      },
    ],
  })
})

test('an empty file field gives no file', () => {
  const empty = body(part('name="files"; filename=""', '', 'application/octet-stream'))
  expect(readMultipart(empty, boundary)).toEqual({ form: {}, files: [] })
})

test('a truncated body gives its complete parts', () => {
  const whole = body(
    part('name="csrf"', 'c'),
    part('name="files"; filename="x.png"', 'y'.repeat(100), 'image/png'),
  )
  expect(readMultipart(whole.subarray(0, whole.length - 60), boundary)).toEqual({
    form: { csrf: 'c' },
    files: [],
  })
})

test.each([
  ['another boundary', body(part('name="a"', 'b')), 'other'],
  ['a field twice', body(part('name="a"', 'b'), part('name="a"', 'c')), boundary],
  ['a part without a name', body(part('filename="a"', 'b')), boundary],
  [
    'a header without an end',
    Buffer.from(`--${boundary}\r\n${'x'.repeat(5_000)}\r\n--${boundary}--`),
    boundary,
  ],
  [
    'more parts than a form has',
    body(...Array.from({ length: 31 }, (_, n) => part(`name="f${n}"`, ''))),
    boundary,
  ],
  [
    'text that is no UTF-8',
    Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n`),
      Buffer.from([255]),
      Buffer.from(`\r\n--${boundary}--`),
    ]),
    boundary,
  ],
])('a body with %s is not taken for a form', (_what, bytes, named) =>
  expect(readMultipart(bytes, named)).toBeUndefined(),
)

test.each([
  ['multipart/form-data; boundary=abc', 'abc'],
  ['multipart/form-data; boundary="a b"', 'a b'],
  ['multipart/form-data', undefined],
  ['application/x-www-form-urlencoded', undefined],
])('the boundary is found in %s', (contentType, expected) => expect(boundaryOf(contentType)).toBe(expected))
