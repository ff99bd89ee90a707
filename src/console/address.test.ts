/** Where people open the console. */
import { expect, test } from 'vitest'
import { toConsoleOrigin } from '#console/address.ts'

test.each([
  ['http://127.0.0.1:8080', undefined, 'http://localhost:8080'],
  ['http://[::1]:8080', undefined, 'http://localhost:8080'],
  ['http://127.0.0.1:8080', 9090, 'http://localhost:9090'],
  ['https://pay.example', undefined, 'https://pay.example'],
  ['http://10.0.0.5:8080', undefined, 'http://10.0.0.5:8080'],
] as const)('%s with the console port %s is opened at %s', (origin, port, expected) => {
  expect(toConsoleOrigin(origin, port)).toBe(expected)
})
