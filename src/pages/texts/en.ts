/**
 * Every text of the hosted pages, in English. The other languages have the same keys; `{name}` is a placeholder and
 * must not be translated. Texts speak to somebody who wants to pay, never about how the gateway works.
 */
export const en = {
  // The frame of every page.
  pageTitle: 'Payment',
  skipToContent: 'Skip to the payment',
  testBanner: 'Test mode: no money moves.',
  securePayment: 'Secure payment',
  cancelPayment: 'Cancel and go back to {merchant}',
  backToMerchant: 'Back to {merchant}',

  // What is being paid.
  payTo: 'Payment to {merchant}',
  orderSummary: 'Your order',
  subtotal: 'Subtotal',
  shipping: 'Shipping',
  discount: 'Discount',
  tax: 'Tax',
  taxIncluded: 'Tax included',
  total: 'Total',
  amount: 'Amount',
  reference: 'Reference',
  moreItems: 'More items: {count}',

  // Choosing a method.
  chooseMethod: 'How would you like to pay?',
  searchMethods: 'Search payment methods',
  searchFound: 'Payment methods found: {count}',
  searchNothing: 'No payment method found.',
  groupCard: 'Cards',
  groupBank: 'Bank account',
  groupWallet: 'Wallets and apps',
  groupLater: 'Pay later',
  groupCash: 'Cash and vouchers',
  groupOther: 'Other ways to pay',
  methodCard: 'Credit or debit card',
  methodDirectDebit: 'Direct debit',
  savedCards: 'Your saved cards',
  cardEnding: '{brand} ending in {digits}',
  cardExpires: 'Expires {date}',
  otherCard: 'Use another card',
  noMethodTitle: 'No payment method available',
  noMethodText: 'This payment cannot be made here at the moment. Please contact {merchant}.',
  hintRedirect: 'You will continue to {method} and come back here afterwards.',
  hintQr: 'You will get a code to scan with your phone.',
  hintVoucher: 'You will get a reference to pay with.',
  hintTransfer: 'You will get the bank details for your transfer.',
  hintDirect: 'Nothing else to fill in.',

  // The card form. Short labels: they stand above narrow fields.
  cardNumber: 'Card number',
  cardNumberMissing: 'Enter the card number.',
  cardNumberWrong: 'This card number is not right. Please check the digits.',
  cardNumberShort: 'The card number is too short.',
  cardsAccepted: 'Only these cards are accepted here: {brands}.',
  expiryDate: 'Expiry date',
  expiryHint: 'MM/YY',
  expiryMissing: 'Enter the expiry date.',
  expiryWrong: 'Enter the expiry date as month and year, for example 08/29.',
  expiryPast: 'This card has expired.',
  securityCode: 'Security code',
  securityCodeHint: '3 digits on the back of the card',
  securityCodeHintFront: '4 digits on the front of the card',
  securityCodeMissing: 'Enter the security code.',
  securityCodeWrong: 'The security code has 3 or 4 digits.',
  cardholderName: 'Name on the card',
  cardholderNameMissing: 'Enter the name as it stands on the card.',
  cardholderNameWrong: 'The name must have 2 to 45 characters.',
  saveCard: 'Save this card for my next payment to {merchant}',
  testCards: 'Test cards',
  testCardsHint: 'Choose one to fill in the form. Only in test mode.',

  // Direct debit.
  accountHolder: 'Account holder',
  accountHolderMissing: 'Enter the name of the account holder.',
  accountHolderWrong: 'The name must have 2 to 64 characters.',
  iban: 'IBAN',
  ibanHint: 'You find it on your bank statement or bank card.',
  ibanMissing: 'Enter the IBAN.',
  ibanWrong: 'This IBAN is not right. Please check it.',
  mandate: 'Direct debit mandate',
  mandateText:
    'I authorise {creditor} to collect this payment from my account by direct debit, and I ask my bank to honour it. Within eight weeks of the debit I may ask my bank for a refund, on the terms agreed with my bank.',
  mandateTextRepeated:
    'I authorise {creditor} to collect this payment and later ones from my account by direct debit, and I ask my bank to honour them. Within eight weeks of each debit I may ask my bank for a refund, on the terms agreed with my bank.',
  creditorId: 'Creditor identifier',
  mandateReference: 'Mandate reference',
  consent: 'I agree to this mandate.',
  consentMissing: 'Please agree to the mandate to pay by direct debit.',

  // Sending.
  payAmount: 'Pay {amount}',
  planTitle: 'Your subscription',
  planInterval: 'Charge interval',
  planFirst: 'First charge',
  planLast: 'Last charge',
  planOpenEnd: 'Until you cancel',
  planHowToEnd: 'To end it, contact {merchant}.',
  planConsent: 'I agree that {merchant} may charge this amount at this interval.',
  planConsentMissing: 'Please agree to these charges to subscribe.',
  laterConsent: 'I agree that {merchant} may make further charges without asking me each time.',
  laterConsentMissing: 'Please agree to these charges to continue.',
  planButton: 'Subscribe and pay {amount}',
  saveCardButton: 'Save card',
  continueButton: 'Continue',
  continueWith: 'Continue with {method}',
  sending: 'One moment, your payment is being processed.',
  errorSummary: 'Please check your entries',
  connectionLost:
    'We could not be reached. Check your connection and press the button again. You will not pay twice.',
  pageOutdated: 'This page was out of date. Please check your entries and try again.',

  // Why a payment was declined, in words that help the customer.
  declineTitle: 'The payment was not accepted',
  declined: 'Your bank did not accept this payment. Nothing was charged. Please use another way to pay.',
  declinedFunds: 'There is not enough money available. Nothing was charged. Please use another way to pay.',
  declinedExpired: 'This card has expired. Nothing was charged. Please use another card.',
  declinedNumber: 'Your bank does not know this number. Nothing was charged. Please check your entries.',
  declinedLimit:
    'A limit of this card or account is reached. Nothing was charged. Please use another way to pay.',
  declinedUnreachable: 'Your bank cannot be reached at the moment. Nothing was charged. Please try again.',
  declinedAuthentication:
    'Your bank could not confirm that it is you. Nothing was charged. Please try again.',
  declinedCancelled: 'You stopped the payment. Nothing was charged. You can try again.',

  // Instalments.
  instalmentPlan: 'Your instalments',
  instalment: 'Instalment',
  dueDate: 'Due on',
  interest: 'Interest and fees',

  // The choice of currency.
  currencyTitle: 'Choose your currency',
  currencyIntro: 'Your card is held in another currency. In which currency do you want to pay?',
  currencyLegend: 'Currency of the payment',
  payIn: 'Pay in {currency}',
  exchangeRate: 'Exchange rate',
  markup: 'Markup included in the rate',
  rateSource: 'Source of the rate',
  currencyBank: 'Your bank converts the amount at its own rate.',
  currencyFinal: 'You are free to choose. The choice holds for this payment only.',
  currencyMissing: 'Choose the currency you want to pay in.',
  currencyAgain: 'The exchange rate shown is no longer valid. Please choose again.',
  typeCardAgain: 'For your safety, please enter the card number and security code again.',

  // Paying later, with a reference or by transfer.
  instructionsTitle: 'Almost done: now pay {amount}',
  instructionsVoucher: 'Pay with this reference. Your order is paid as soon as the money has arrived.',
  instructionsTransfer:
    'Transfer exactly this amount and give the reference, so that your payment can be recognised.',
  instructionsQr: 'Scan the code with your app and confirm the payment there.',
  payBefore: 'Pay before',
  recipient: 'Recipient',
  bank: 'Bank',
  bic: 'BIC',
  accountNumber: 'Account number',
  bankCode: 'Bank code',
  entity: 'Entity',
  paymentCode: 'Payment code',
  qrCode: 'QR code of this payment',
  copy: 'Copy',
  copied: 'Copied',
  copyWhat: 'Copy: {what}',
  print: 'Print',
  instructionsAfter: '{merchant} is told as soon as your payment has arrived. You may close this page.',

  // Facts of a payment.
  merchant: 'Merchant',
  card: 'Card',
  date: 'Date',
  method: 'Payment method',
  cancel: 'Cancel',

  // How it ended.
  paidTitle: 'Thank you, your payment is complete',
  paidText: '{merchant} has been told. You may close this page.',
  pendingTitle: 'Your payment is being processed',
  pendingText: 'The result is not known yet. {merchant} is told as soon as it is. Please do not pay again.',
  failedTitle: 'The payment failed',
  failedText: 'Nothing was charged. Please contact {merchant} or start again in the shop.',
  cancelledTitle: 'The payment was cancelled',
  cancelledText: 'Nothing was charged.',
  sentBackText: 'What you have paid is sent back to your account.',

  // Pages on which nothing can be paid.
  expiredTitle: 'This payment page has expired',
  expiredText: 'Nothing was charged. Please start again in the shop or ask for a new link.',
  completedTitle: 'This payment has already been made',
  completedText: 'There is nothing left to do. You may close this page.',
  unknownTitle: 'We do not know this page',
  unknownText: 'Please check the address, or open the link from the shop again.',
  triesTitle: 'Too many tries',
  triesText: 'For your safety no further payment is possible here. Please contact the shop.',
  slowDownTitle: 'Please wait a moment',
  slowDownText: 'There were too many tries in a short time. Please try again in a few minutes.',
  errorTitle: 'Something went wrong on our side',
  errorText: 'We are sorry. Please try again: a payment that has already been made is not made twice.',
  unavailableTitle: 'We will be back in a moment',
  unavailableText: 'Payments are not possible just now. Please try again in a few minutes.',
  tryAgain: 'Try again',
} as const

/** The keys that every language must have. */
export type TextKey = keyof typeof en
export type Texts = Readonly<Record<TextKey, string>>
