/** Line-item data that some acquirers require with captures. It is passed on; no rule of ours reads it. */
import type { Static } from 'typebox'
import { maximumAmount } from '#domain/money/money.ts'
import { nameMax } from '#schemas/parts/address.ts'
import { choice, closed, formatted, freeTextMax, optional, text, whole } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'

/** Above any mileage, unit count or consumption of one rental. */
const countMax = 1_000_000_000
/** 100 lines: more than any rental agreement prints. */
const linesMax = 100

const label = (description: string) => text(freeTextMax, description)
const remark = (description: string) => optional(label(description))
const day = (description: string) => optional(formatted('date', description))
const money = (description: string) => whole(0, maximumAmount, description)
const count = (description: string) => whole(0, countMax, description)

const firstName = text(nameMax, 'First name.')
const middleName = optional(text(nameMax, 'Middle name.'))
const lastName = text(nameMax, 'Last name.')

const common = closed(
  {
    amounts: closed(
      {
        grossAmount: money('Amount with tax.'),
        netAmount: money('Amount without tax.'),
        taxAmount: money('Tax.'),
      },
      { title: 'EnhancedAmounts', description: 'Amounts in the smallest unit.' },
    ),
    tax: optional(
      closed(
        {
          // In percent or hundredths of a percent: acquirers differ, so the number is passed on unchanged.
          taxRate: optional(Type.Number({ minimum: 0, maximum: 100_000, description: 'Rate of the tax.' })),
          taxTypeIndicator: optional(choice(['ValueAddedTax', 'SalesTax', 'Other'], 'Kind of tax.')),
        },
        { title: 'EnhancedTax', description: 'The tax within the amount.' },
      ),
    ),
  },
  { title: 'EnhancedCommon', description: 'What every industry sends.' },
)

const rentalInformation = closed(
  {
    carMake: label('Make of the car.'),
    milesDriven: count('Distance driven.'),
    driver: closed({ firstName, middleName, lastName }, { title: 'Driver', description: 'Who drove.' }),
    carRentalCompanyId: choice(
      ['D', 'F', 'G', 'H', 'M', 'O', 'P', 'T', 'W', 'Y', 'Z'],
      "The scheme's letter for the rental company.",
    ),
    departureDate: day('When the car was taken.'),
    customerOrderNumber: remark("The customer's order number."),
    costPerMile: optional(money('Price per mile.')),
    vehicleGroup: remark('Group of the car.'),
    fuelConsumption: optional(count('Fuel used.')),
  },
  { title: 'RentalInformation', description: 'The rental itself.' },
)

const billingAndInvoiceInformation = closed(
  {
    countryCode: text(3, 'Country, in any form of ISO 3166-1.', { pattern: '^(?:[A-Z]{2,3}|[0-9]{3})$' }),
    accountingUnit: remark('Accounting unit.'),
    businessUnit: remark('Business unit.'),
    actionNumber: remark('Action number.'),
    voucherNumber: remark('Voucher number.'),
    department: remark('Department.'),
    discountNumber: remark('Discount number.'),
    internalAccountNumber: optional(
      text(freeTextMax, "The customer's internal account number.", { sensitive: true }),
    ),
    costCenter: remark('Cost centre.'),
    customerNumber: remark('Customer number.'),
    customerReference: remark('Reference of the customer.'),
    employeeNumber: remark('Number of the employee.'),
    projectNumber: remark('Number of the project.'),
    invoiceNumber: remark('Number of the invoice.'),
    invoiceDate: day('Day of the invoice.'),
    destination: remark('Destination.'),
    taxRegistrationNumber: remark('Tax registration number.'),
    comments: remark('Comments.'),
    misc: remark('Anything else.'),
  },
  { title: 'RentalInvoice', description: 'How the rental is billed.' },
)

const carSharing = closed(
  {
    nonVATableNetAmount: optional(money('Net amount outside value added tax.')),
    // 10 and 135 (three parts of 45): the limits of the scheme's own record.
    documentNumber: text(10, 'Number of the document.'),
    serviceDescription: text(135, 'Description of the service, read as three parts of 45 characters.'),
    serviceType: remark('Kind of service.'),
    hotelBookingDetails: optional(
      closed(
        {
          name: remark('Name of the hotel.'),
          checkInDate: day('Day of arrival.'),
          locationCity: remark('City of the hotel.'),
          roomNights: optional(
            Type.Number({ minimum: 0, maximum: countMax, description: 'Nights times rooms.' }),
          ),
        },
        { title: 'HotelBooking', description: 'A hotel booked along with it.' },
      ),
    ),
  },
  { title: 'CarSharing', description: 'Car sharing instead of a rental.' },
)

const lineItem = closed(
  {
    itemDescription: choice(
      [
        ...(['C9', 'CB', 'CC', 'CG', 'CI', 'CJ', 'CT', 'CU', 'CV', 'CW', 'CX', 'CY'] as const),
        ...(['D4', 'D7', 'D8', 'D9', 'DA', 'O6', 'OQ'] as const),
      ],
      "The scheme's code for the line.",
    ),
  },
  { title: 'RentalLine', description: 'One line of the rental bill.' },
)

const schemeA = closed(
  {
    rentalInformation,
    billingAndInvoiceInformation,
    mileageUnit: choice(['Km', 'Mi'], 'Unit of all distances.'),
    odometerStart: count('Odometer at departure.'),
    odometerReturn: count('Odometer at return.'),
    telcoUnits: optional(count('Telephone units used.')),
    carSharing: optional(carSharing),
    lineItems: optional(Type.Array(lineItem, { maxItems: linesMax, description: 'Lines of the bill.' })),
  },
  { title: 'CarRentalSchemeA', description: 'Car rental in the form of card scheme A.' },
)

const additionalAmount = closed(
  {
    amountTypeCode: label('Kind of amount.'),
    transactionType: choice(['Debit', 'Credit'], 'To or from the customer.'),
  },
  { title: 'AdditionalAmount', description: 'An amount besides the rental.' },
)

const supplier = closed(
  {
    matchCode: label('Short name of the supplier.'),
    legalName: label('Name of the supplier in law.'),
    address: optional(
      closed(
        {
          street: optional(text(64, 'Street.')),
          city: optional(text(64, 'City.')),
          zipCode: optional(text(16, 'Postal code.')),
          state: optional(text(64, 'State, province or region.')),
          country: optional(formatted('alpha3', 'Country, ISO 3166-1 alpha-3.')),
        },
        { title: 'SupplierAddress', description: 'Address of the supplier.' },
      ),
    ),
  },
  { title: 'Supplier', description: 'Who supplied the car.' },
)

const provider = closed(
  {
    travelAgencyCode: label('Code of the travel agency.'),
    travelOfficeCode: label('Code of the travel office.'),
    transactionReference: label('Reference of the transaction.'),
    invoiceIndicator: choice(['N', 'Y', 'R'], 'Whether there is an invoice.'),
    invoice: optional(
      closed(
        {
          number: remark('Number of the invoice.'),
          date: day('Day of the invoice.'),
          associatedNumber: remark('Number of the invoice it belongs to.'),
        },
        { title: 'ProviderInvoice', description: 'The invoice.' },
      ),
    ),
    iataNumber: optional(count('IATA number.')),
    serviceCentre: remark('Service centre.'),
    terminalId: remark('Id of the terminal.'),
    providerReference: remark('Reference of the provider.'),
    electronicInvoiceLocation: remark('Where the electronic invoice lies.'),
  },
  { title: 'TravelProvider', description: 'Who sold the rental.' },
)

/** Unlike the driver, a traveller may have one name only, as many people do. */
const traveller = closed(
  { firstName: optional(firstName), middleName, lastName: optional(lastName) },
  { title: 'Traveller', description: 'Who travelled.' },
)

const schemeB = closed(
  {
    cancellationReason: remark('Why the booking was cancelled.'),
    bookingSourceCode: optional(
      choice(['OnlineBooking', 'SelfBookingTool', 'AfterHoursBooking', 'PhoneBooking'], 'How it was booked.'),
    ),
    mediaCode: optional(
      choice(
        ['CardmemberSignatureOnFile', 'PhoneOrder', 'MailOrder', 'InternetOrder', 'RecurringBilling'],
        'How the order came in.',
      ),
    ),
    globalDistributionSystem: optional(choice(['Amadeus', 'Sabre', 'Galileo'], 'Booking network.')),
    originalAmount: optional(money('Amount before conversion.')),
    originalCurrencyCode: optional(formatted('currency', 'Currency before conversion.')),
    additionalAmounts: Type.Array(additionalAmount, {
      maxItems: linesMax,
      description: 'Amounts besides the rental.',
    }),
    travellers: optional(Type.Array(traveller, { maxItems: linesMax, description: 'Who travelled.' })),
    consultant: remark('Who advised the customer.'),
    supplier,
    provider,
    bookingSystem: optional(
      closed(
        { bookingSystemReference: remark('Reference in the booking system.') },
        { title: 'BookingSystem', description: 'The system it was booked with.' },
      ),
    ),
  },
  { title: 'CarRentalSchemeB', description: 'Car rental in the form of card scheme B.' },
)

export const enhancedData = closed(
  {
    common,
    carRental: optional(
      closed(
        { schemeA: optional(schemeA), schemeB: optional(schemeB) },
        { title: 'CarRental', description: 'Car rental.' },
      ),
    ),
  },
  { title: 'EnhancedData', description: 'Line-item data for acquirers that want it.' },
)
export type EnhancedData = Static<typeof enhancedData>
