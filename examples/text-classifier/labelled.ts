/** What the tickets of a shop are about, by tickets that people have sorted. */
export const labelled: Readonly<Record<string, readonly string[]>> = {
  delivery: [
    'My parcel has not arrived yet, where is it?',
    'The tracking says delivered, and there was no package at my door.',
    'When will my order be shipped? It is a week late.',
    'The courier left the parcel with a neighbour I do not know.',
    'Can I change the delivery address of the shipment?',
  ],
  payment: [
    'My credit card was charged twice for one purchase.',
    'The invoice shows a wrong amount, please correct the bill.',
    'My bank transfer was not booked, the payment is still open.',
    'I was billed although I had paid by card.',
    'Do you take payment by invoice or bank transfer?',
  ],
  return: [
    'I want to send the shoes back, they do not fit.',
    'How do I return an item, and do I get my money back?',
    'The refund for the jacket I returned is missing.',
    'Please exchange the trousers for a larger size.',
    'I would like to cancel and give the item back for a refund.',
  ],
  account: [
    'I forgot my password and cannot log in.',
    'The login says that my email is unknown.',
    'Please delete my account and all personal data.',
    'How do I change the email address of my profile?',
    'The link to reset the password does not work.',
  ],
  defect: [
    'The lamp broke after one day, the switch does not work.',
    'The screen has a crack and the device is damaged.',
    'The battery is dead and does not charge any more.',
    'The cup was broken and in pieces when I opened the box.',
    'The machine makes a loud noise and stops working.',
  ],
}
