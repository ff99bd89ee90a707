/** What must not compile with the types that @hey-api/openapi-ts makes. */
import type { CreatePayment } from '../dist/sdk/types.gen.ts'

declare function accept(methods: CreatePayment['paymentMethods']): void

// must fail: a misspelt key
accept({ integrationType: 'DIRECT', type: 'CARD', crad: { number: '4111111111111111' } })

// must fail: a misspelt type
accept({ integrationType: 'DIRECT', type: 'CRAD' })
