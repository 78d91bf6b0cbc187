// The API reference: Swagger UI over the description of this very server. Where that brings credentials (a demo on one's own
// machine), they are filled in, and every example can be sent as it stands.
const response = await fetch('/docs/openapi.json', { headers: { accept: 'application/json' } });
const spec = await response.json();
const credentials = spec['x-credentials'] ?? {};

const ui = SwaggerUIBundle({
  spec,
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete: () => {
    for (const [scheme, value] of Object.entries(credentials)) ui.preauthorizeApiKey(scheme, value);
  },
});
