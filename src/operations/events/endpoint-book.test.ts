import { expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { createEndpointBook } from '#operations/events/endpoint-book.ts'
import type { WebhookEndpoint } from '#storage/events/endpoints.ts'

const endpoint: WebhookEndpoint = {
  merchantId: 'mer_1' as MerchantId,
  endpointId: 'whe_1',
  url: 'https://shop.example/hook',
  kind: 'BASIC',
  createdAt: new Date('2026-01-02T03:04:05Z'),
}

const { merchantId } = endpoint

/** Each read is answered by the test, with what the database held when the read began. */
function openBook() {
  type Found = { mark: string; endpoints: WebhookEndpoint[]; deliveriesWait: boolean }
  const reads: ((found: Found) => void)[] = []
  const book = createEndpointBook({
    readAll: () => new Promise(resolve => void reads.push(resolve)),
    readMark: () => Promise.reject(new Error('nothing here reads the mark alone')),
  })
  return { book, reads }
}

test('an endpoint that is added while the endpoints are being read is known when its own mark is noticed', async () => {
  const { book, reads } = openBook()
  const first = book.notice('first')
  const second = book.notice('second')
  const third = book.notice('second')
  expect(reads).toHaveLength(1)
  reads[0]?.({ mark: 'first', endpoints: [], deliveriesWait: false })
  await first
  expect(book.mayHaveDeliveries()).toBe(false)
  await expect.poll(() => reads.length).toBe(2)
  reads[1]?.({ mark: 'second', endpoints: [endpoint], deliveriesWait: false })
  await Promise.all([second, third])
  expect(book.wants(merchantId, 'payment.captured')).toBe(true)
  expect(reads).toHaveLength(2)
})

test('a read that finds the noticed mark already is not repeated', async () => {
  const { book, reads } = openBook()
  const first = book.notice('first')
  const second = book.notice('second')
  reads[0]?.({ mark: 'second', endpoints: [endpoint], deliveriesWait: false })
  await Promise.all([first, second])
  expect(reads).toHaveLength(1)
  expect(book.notice('second')).toBeUndefined()
})
