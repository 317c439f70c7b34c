require 'csv'

COUNTRY = { 'Berlin' => '+49', 'Lagos' => '+234' }.freeze

def phone(text, city)
  digits = text.gsub(/[^0-9+]/, '')
  return digits if digits.start_with?('+')
  return '+' + digits.delete_prefix('00') if digits.start_with?('00')
  COUNTRY.fetch(city) + digits.delete_prefix('0')
end

read = 0
contacts = {}
ARGV.each do |file|
  CSV.foreach(file, headers: true) do |row|
    read += 1
    name = row['name'].strip.squeeze(' ')
    number = phone(row['phone'], row['city'].strip)
    contacts[number] ||= [name, number, row['city'].strip]
  end
end

CSV.open('/out/contacts.csv', 'w') do |out|
  out << %w[name phone city]
  contacts.values.sort.each { |c| out << c }
end
puts "#{read} lines read, #{contacts.size} contacts written"
