/** Checks of the agreement to charge a customer again (`credentialOnFile`) that no schema can express. */
import { InvalidField } from '#http/server/ports.ts'
import type { Method } from '#methods/rows.ts'
import { undecided } from '#methods/undecided.ts'
import type { CreatePayment } from '#schemas/create-payment.ts'

export function checkAgreement(
  { credentialOnFile, amount }: Pick<CreatePayment, 'credentialOnFile' | 'amount'>,
  method: Method,
): void {
  if (!credentialOnFile?.initialPayment) return
  const refuse = (field: string, error: string): never => {
    throw new InvalidField(`credentialOnFile.${field}`, error)
  }
  // On a page the customer chooses later, among those that can be.
  if (method !== undecided && !method.operations.includes('recurring')) {
    refuse('initialPayment', `${method.type} cannot be charged again without the customer`)
  }
  const { type, recurring } = credentialOnFile
  const { startDate, expiryDate, frequency, autoCharge } = recurring ?? {}
  if (startDate !== undefined && expiryDate !== undefined && expiryDate < startDate) {
    refuse('recurring.expiryDate', `is ${expiryDate}; it must not lie before startDate, ${startDate}`)
  }
  if (!autoCharge) return
  if (type !== 'RECURRING') refuse('recurring.autoCharge', 'goes with the type RECURRING only')
  if (frequency === undefined) refuse('recurring.frequency', 'is missing; autoCharge needs it')
  if (amount.value === 0) refuse('recurring.autoCharge', 'needs an amount above 0')
}
