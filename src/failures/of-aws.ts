import type { Course } from './course.ts'

/** By the name that the AWS SDK gives its errors, those of DynamoDB among them. */
const courses: Readonly<Record<string, Course>> = {
  ProvisionedThroughputExceededException: 'wait',
  ThrottlingException: 'wait',
  RequestLimitExceeded: 'wait',
  LimitExceededException: 'wait',
  InternalServerError: 'wait',
  ServiceUnavailable: 'wait',
  ServiceUnavailableException: 'wait',
  AccessDeniedException: 'wait',
  ExpiredTokenException: 'wait',
  UnrecognizedClientException: 'wait',
  ResourceNotFoundException: 'wait',
  ConditionalCheckFailedException: 'retry',
  TransactionCanceledException: 'retry',
  TransactionConflictException: 'retry',
  TransactionInProgressException: 'retry',
  IdempotentParameterMismatchException: 'dead-letter',
  ItemCollectionSizeLimitExceededException: 'dead-letter',
  ValidationException: 'dead-letter',
}

/** Errors of the AWS SDK. */
export function ofAws(error: object): Course | undefined {
  const { name, $metadata } = error as { readonly name?: unknown; readonly $metadata?: unknown }
  return typeof $metadata === 'object' && typeof name === 'string' ? courses[name] : undefined
}
