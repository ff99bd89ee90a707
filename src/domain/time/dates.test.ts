import { expect, test } from 'vitest'
import {
  hasExpired,
  isDate,
  isDottedDate,
  isExpiryDate,
  isInstant,
  parseBound,
  parseInstant,
} from '#domain/time/dates.ts'

test.each([
  ['2026-11-15', true],
  ['2024-02-29', true],
  ['2000-02-29', true],
  ['2026-02-29', false],
  ['1900-02-29', false],
  ['2026-04-31', false],
  ['2026-13-01', false],
  ['2026-00-10', false],
  ['2026-01-00', false],
  ['0000-01-01', false],
  ['2026-1-1', false],
  ['15.11.2026', false],
  ['2026-11-15T00:00:00Z', false],
  ['2026-11-15\n', false],
])('%j is a date: %s', (text, is) => expect(isDate(text)).toBe(is))

test.each([
  ['15.11.2026', true],
  ['29.02.2024', true],
  ['29.02.2026', false],
  ['31.04.2026', false],
  ['11.15.2026', false],
  ['00.01.2026', false],
  ['1.1.2026', false],
  ['2026-11-15', false],
  ['15.11.2026\n', false],
  ['', false],
])('%j is a date with dots: %s', (text, is) => expect(isDottedDate(text)).toBe(is))

test.each([
  ['2026-11-15T03:10:22Z', Date.UTC(2026, 10, 15, 3, 10, 22)],
  ['2026-11-15T03:10:22', Date.UTC(2026, 10, 15, 3, 10, 22)],
  ['2026-11-15t03:10:22z', Date.UTC(2026, 10, 15, 3, 10, 22)],
  ['2026-11-15T03:10:22.5Z', Date.UTC(2026, 10, 15, 3, 10, 22, 500)],
  ['2026-11-15T03:10:22.123999999Z', Date.UTC(2026, 10, 15, 3, 10, 22, 123)],
  ['2026-11-15T05:40:22+02:30', Date.UTC(2026, 10, 15, 3, 10, 22)],
  ['2026-11-14T22:10:22-05:00', Date.UTC(2026, 10, 15, 3, 10, 22)],
])('%j is the instant %i', (text, instant) => expect(parseInstant(text)).toBe(instant))

test.each([
  ['2026-11-15T03:10:22.123Z', Date.UTC(2026, 10, 15, 3, 10, 22, 123)],
  ['2026-11-15T03:10:22.123000000Z', Date.UTC(2026, 10, 15, 3, 10, 22, 123)],
  ['2026-11-15T03:10:22.123000001Z', Date.UTC(2026, 10, 15, 3, 10, 22, 124)],
  ['2026-11-15T23:59:59.999999Z', Date.UTC(2026, 10, 16)],
  ['2026-11-15T23:59:59.999999-01:00', Date.UTC(2026, 10, 16, 1)],
  ['2026-11-15T03:10:22.12Z', Date.UTC(2026, 10, 15, 3, 10, 22, 120)],
  ['2026-11-15', undefined],
])('a range that ends with %j holds the milliseconds before %j', (text, bound) =>
  expect(parseBound(text)).toBe(bound),
)

test.each([
  '2026-11-15',
  '2026-11-15 03:10:22Z',
  '2026-02-29T00:00:00Z',
  '2026-11-15T24:00:00Z',
  '2026-11-15T23:60:00Z',
  '2026-06-30T23:59:60Z',
  '2026-11-15T03:10Z',
  '2026-11-15T03:10:22+25:00',
  '2026-11-15T03:10:22+0200',
  '2026-11-15T03:10:22.Z',
  '1763176222123',
  'tomorrow',
  '',
])('%j is no instant', text => expect(isInstant(text)).toBe(false))

test.each([
  ['202701', true],
  ['202712', true],
  ['202700', false],
  ['202713', false],
  ['2027-1', false],
  ['0127', false],
  ['', false],
])('%j is an expiry date: %s', (text, is) => expect(isExpiryDate(text)).toBe(is))

test.each([
  ['202611', Date.UTC(2026, 10, 30, 23, 59, 59, 999), false],
  ['202611', Date.UTC(2026, 11, 1), true],
  ['202612', Date.UTC(2026, 11, 31, 23, 59, 59, 999), false],
  ['202612', Date.UTC(2027, 0, 1), true],
  ['203001', Date.UTC(2026, 10, 15), false],
  ['000001', Date.UTC(2026, 10, 15), true],
])('%s at %i has expired: %s', (expiryDate, now, expired) =>
  expect(hasExpired(expiryDate, now)).toBe(expired),
)
