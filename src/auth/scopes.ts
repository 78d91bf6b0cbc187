export { SCOPES, type Scope } from '#schemas/scopes';
