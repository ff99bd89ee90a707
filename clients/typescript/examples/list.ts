/** All payments of a status, however many pages there are. */
import type { Tollgate } from '../src/index.ts'

export async function sumCaptured(tollgate: Tollgate): Promise<number> {
  let sum = 0
  for await (const payment of tollgate.payments.list({ status: 'OK', limit: 2 })) {
    sum += payment.amount?.capturedValue ?? 0
  }
  return sum
}
